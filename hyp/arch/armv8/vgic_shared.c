/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "vgic_shared.h"

#include "../../core/arch.h"
#include "gic.h"
#include "gicd.h"
#include "sysreg.h"
#include "vgic.h"

/* Of GICD_ICFGR: a channel's interrupt is an edge, and stays one. */
#define TRIGGER_BITS 3U
#define TRIGGER_EDGE 2U

/* The hardware's triggers have interrupts of several VMs in a word. */
static struct lock trigger_lock;

static void add(struct shared_interrupts *shared, uint32_t interrupt, bool is_hardware) {
    uint32_t n = shared->count++;
    shared->number[n] = interrupt;
    shared->hardware |= (uint32_t)is_hardware << n;
    shared->targets[n] = 1;
}

void vgic_shared_init(struct vm *vm) {
    add(&vm->arch.shared, ARCH_GUEST_UART_INTERRUPT, false);
    vm->arch.shared.level = 1;
    for (uint32_t i = 0; i < MAX_SHARED && vm->config->interrupts[i]; i++)
        add(&vm->arch.shared, vm->config->interrupts[i], true);
    for (uint32_t c = 0; c < machine_config.channels; c++)
        for (uint32_t e = 0; e < CHANNEL_ENDS; e++) {
            const struct channel_end *end = &machine_config.channel[c].end[e];
            if (end->vm == vm->number && end->interrupt)
                add(&vm->arch.shared, end->interrupt, false);
        }
}

uint32_t vgic_shared_find(const struct vm *vm, uint32_t interrupt) {
    const struct shared_interrupts *shared = &vm->arch.shared;
    for (uint32_t n = 0; n < shared->count; n++)
        if (shared->number[n] == interrupt)
            return n;
    return MAX_SHARED;
}

uint32_t vgic_shared_words(const struct vm *vm) {
    uint32_t last = 0;
    for (uint32_t n = 0; n < vm->arch.shared.count; n++)
        if (vm->arch.shared.number[n] > last)
            last = vm->arch.shared.number[n];
    return last / 32;
}

/* A set of the VM's interrupts as a register has it whose first bit is of interrupt `first`. */
static uint32_t bits_of(const struct vm *vm, uint32_t set, uint32_t first) {
    uint32_t bits = 0;
    for (uint32_t n = 0; n < vm->arch.shared.count; n++) {
        uint32_t bit = vm->arch.shared.number[n] - first;
        if (bit < 32 && set >> n & 1)
            bits |= 1U << bit;
    }
    return bits;
}

/* And back; what is not the VM's is left out. */
static uint32_t set_of(const struct vm *vm, uint32_t bits, uint32_t first) {
    uint32_t set = 0;
    for (uint32_t n = 0; n < vm->arch.shared.count; n++) {
        uint32_t bit = vm->arch.shared.number[n] - first;
        if (bit < 32 && bits >> bit & 1)
            set |= 1U << n;
    }
    return set;
}

/* As in a register with two bits an interrupt: `bits` of each of a set. */
static uint32_t fields_of(const struct vm *vm, uint32_t set, uint32_t first, uint32_t bits) {
    uint32_t value = 0;
    for (uint32_t n = 0; n < vm->arch.shared.count; n++) {
        uint32_t field = vm->arch.shared.number[n] - first;
        if (field < 16 && set >> n & 1)
            value |= bits << field * 2;
    }
    return value;
}

/* vCPU to which the guest has it sent; null: to none. */
static struct vcpu *target_of(struct vm *vm, uint32_t n) {
    uint32_t targets = __atomic_load_n(&vm->arch.shared.targets[n], __ATOMIC_SEQ_CST);
    return targets ? &vm->vcpu[__builtin_ctz(targets)] : 0;
}

static void set_bits(uint32_t *word, uint32_t bits) {
    __atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

static uint32_t clear_bits(uint32_t *word, uint32_t bits) {
    return __atomic_fetch_and(word, ~bits, __ATOMIC_SEQ_CST) & bits;
}

/* What is raised, but for levels that are in a list register. */
static uint32_t raised(const struct shared_interrupts *shared) {
    return __atomic_load_n(&shared->raised, __ATOMIC_SEQ_CST) &
           ~__atomic_load_n(&shared->listed, __ATOMIC_SEQ_CST);
}

/*
 * An interrupt of the VM's own that is raised, on and sent to a vCPU is taken by that one on its way back to
 * its guest. Whoever makes one of the three true looks for the other two, in this order (sequential
 * consistency), and has the vCPU's core come here.
 */
static void tell(struct vm *vm, uint32_t n) {
    const struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t is_due =
        raised(shared) & __atomic_load_n(&shared->enabled, __ATOMIC_SEQ_CST) & 1U << n;
    const struct vcpu *to = target_of(vm, n);
    if (is_due && to && to != arch_vcpu())
        arch_kick(to->core);
}

void vgic_shared_raise(struct vm *vm, uint32_t n) {
    set_bits(&vm->arch.shared.raised, 1U << n);
    tell(vm, n);
}

void vgic_shared_level(struct vm *vm, uint32_t interrupt, bool is_up) {
    struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t n = vgic_shared_find(vm, interrupt);
    bool was_up = __atomic_load_n(&shared->raised, __ATOMIC_SEQ_CST) >> n & 1;
    if (is_up && !was_up)
        vgic_shared_raise(vm, n);
    if (!is_up && was_up) {
        clear_bits(&shared->raised, 1U << n);
        if (arch_vcpu() && arch_vcpu()->vm == vm)
            vgic_withdraw(arch_vcpu(), interrupt);
    }
}

void arch_notify(struct vm *to, uint32_t interrupt) {
    vgic_shared_raise(to, vgic_shared_find(to, interrupt));
}

uint32_t vgic_shared_raised(const struct vcpu *vcpu) {
    uint32_t set = raised(&vcpu->vm->arch.shared), own = 0;
    for (; set; set &= set - 1) {
        uint32_t n = (uint32_t)__builtin_ctz(set);
        if (target_of(vcpu->vm, n) == vcpu)
            own |= 1U << n;
    }
    return own;
}

bool vgic_shared_take(struct vm *vm, uint32_t n) {
    struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t bit = 1U << n;
    if (shared->level & bit)
        return !(__atomic_fetch_or(&shared->listed, bit, __ATOMIC_SEQ_CST) & bit);
    return clear_bits(&shared->raised, bit);
}

void vgic_shared_give_back(struct vm *vm, uint32_t n) {
    uint32_t bit = 1U << n;
    if (!(vm->arch.shared.level & bit)) {
        vgic_shared_raise(vm, n);
        return;
    }
    clear_bits(&vm->arch.shared.listed, bit);
    tell(vm, n);
}

/* As the guest has it. Under the VM's lock. */
static void apply(struct vm *vm, uint32_t n) {
    const struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t targets = shared->targets[n];
    if (!(shared->hardware >> n & 1)) {
        tell(vm, n);
    } else if (shared->enabled >> n & 1 && targets) {
        gic_shared_enable(shared->number[n], vm->config->cores[__builtin_ctz(targets)]);
    } else {
        gic_shared_disable(shared->number[n]);
    }
}

static void apply_all(struct vm *vm, uint32_t set) {
    for (; set; set &= set - 1)
        apply(vm, (uint32_t)__builtin_ctz(set));
}

void vgic_shared_off(struct vm *vm) {
    struct shared_interrupts *shared = &vm->arch.shared;
    lock(&shared->lock);
    shared->enabled = 0;
    apply_all(vm, (uint32_t)((1ULL << shared->count) - 1));
    unlock(&shared->lock);
}

void vgic_shared_route(struct vcpu *vcpu) {
    struct vm *vm = vcpu->vm;
    lock(&vm->arch.shared.lock);
    apply_all(vm, vm->arch.shared.enabled);
    unlock(&vm->arch.shared.lock);
}

/* Those that are in no list register yet: they have come to one of the VM's cores, or were raised. */
static uint32_t waiting(const struct vm *vm) {
    uint64_t lines = 0;
    for (uint32_t v = 0; v < vm->config->vcpus; v++)
        lines |= __atomic_load_n(&vm->vcpu[v].arch.pending, __ATOMIC_ACQUIRE);
    return (uint32_t)(lines >> VGIC_PRIVATE) |
           __atomic_load_n(&vm->arch.shared.raised, __ATOMIC_ACQUIRE);
}

static uint32_t read_bits(const struct vm *vm, uint32_t offset) {
    const struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t at = offset % GICD_BIT_BYTES, first = at * 8;
    uint32_t own = bits_of(vm, shared->hardware, first);
    switch (offset - at) {
    case GICD_IGROUPR:
        return bits_of(vm, shared->group, first);
    case GICD_ISENABLER:
    case GICD_ICENABLER:
        return bits_of(vm, shared->enabled, first);
    case GICD_ISPENDR:
    case GICD_ICPENDR:
        return (own & gic_shared_read(GICD_ISPENDR + at)) | bits_of(vm, waiting(vm), first);
    case GICD_ISACTIVER:
    case GICD_ICACTIVER:
        return own & gic_shared_read(GICD_ISACTIVER + at) & ~bits_of(vm, waiting(vm), first);
    default:
        return 0;
    }
}

bool vgic_shared_has(uint32_t offset) {
    if (GICD_IGROUPR <= offset && offset < GICD_IPRIORITYR)
        return offset % GICD_BIT_BYTES;
    return offset - (GICD_IPRIORITYR + VGIC_PRIVATE) < GICD_BYTE_BYTES - VGIC_PRIVATE ||
           offset - (GICD_ICFGR + VGIC_PRIVATE / 4) < GICD_ICFGR_BYTES - VGIC_PRIVATE / 4;
}

uint32_t vgic_shared_read(const struct vm *vm, uint32_t offset) {
    if (offset < GICD_IPRIORITYR)
        return read_bits(vm, offset);
    const struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t value = 0, first = offset - GICD_IPRIORITYR;
    if (first < GICD_BYTE_BYTES) {
        for (uint32_t byte = 0; byte < 4; byte++) {
            uint32_t n = vgic_shared_find(vm, first + byte);
            value |= n < MAX_SHARED ? (uint32_t)shared->priority[n] << byte * 8 : 0;
        }
    } else if (offset - GICD_ICFGR < GICD_ICFGR_BYTES) {
        first = (offset - GICD_ICFGR) * 4;
        value = gic_shared_read(offset) & fields_of(vm, shared->hardware, first, TRIGGER_BITS);
        value |= fields_of(vm, ~(shared->hardware | shared->level), first, TRIGGER_EDGE);
    }
    return value;
}

/* `bits` are one: where the register sets, or clears, what is one in it. */
static void write_bits(struct vm *vm, uint32_t offset, uint32_t bits, uint32_t mask) {
    struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t at = offset % GICD_BIT_BYTES, first = at * 8;
    uint32_t set = set_of(vm, bits, first);
    switch (offset - at) {
    case GICD_IGROUPR:
        shared->group = (shared->group & ~set_of(vm, mask, first)) | set;
        break;
    case GICD_ISENABLER:
        __atomic_store_n(&shared->enabled, shared->enabled | set, __ATOMIC_SEQ_CST);
        apply_all(vm, set);
        break;
    case GICD_ICENABLER:
        __atomic_store_n(&shared->enabled, shared->enabled & ~set, __ATOMIC_RELEASE);
        apply_all(vm, set);
        break;
    case GICD_ISPENDR:
    case GICD_ICPENDR: /* but for what of the hardware's has come to us */
        gic_shared_write(offset, bits_of(vm, set & shared->hardware, first));
        /* What a level is, its device says. */
        for (set &= ~(shared->hardware | shared->level); set; set &= set - 1) {
            uint32_t n = (uint32_t)__builtin_ctz(set);
            if (offset - at == GICD_ISPENDR)
                vgic_shared_raise(vm, n);
            else
                clear_bits(&shared->raised, 1U << n);
        }
        break;
    default:
        break;
    }
}

static void write_trigger(const struct vm *vm, uint32_t offset, uint32_t value, uint32_t mask) {
    mask &= fields_of(vm, vm->arch.shared.hardware, (offset - GICD_ICFGR) * 4, TRIGGER_BITS);
    if ((gic_shared_read(offset) & mask) == (value & mask))
        return;
    lock(&trigger_lock);
    gic_shared_write(offset, (gic_shared_read(offset) & ~mask) | (value & mask));
    unlock(&trigger_lock);
}

void vgic_shared_write(struct vm *vm, uint32_t offset, uint32_t value, uint32_t mask) {
    struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t first = offset - GICD_IPRIORITYR;
    lock(&shared->lock);
    if (offset < GICD_IPRIORITYR) {
        write_bits(vm, offset, value & mask, mask);
    } else if (first < GICD_BYTE_BYTES) {
        for (uint32_t byte = 0; byte < 4; byte++) {
            uint32_t n = vgic_shared_find(vm, first + byte);
            if (n < MAX_SHARED && mask >> byte * 8 & 1)
                shared->priority[n] = (uint8_t)(value >> byte * 8);
        }
    } else if (offset - GICD_ICFGR < GICD_ICFGR_BYTES) {
        write_trigger(vm, offset, value, mask);
    }
    unlock(&shared->lock);
}

uint32_t vgic_shared_targets(const struct vm *vm, uint32_t interrupt) {
    uint32_t n = vgic_shared_find(vm, interrupt);
    return n < MAX_SHARED ? vm->arch.shared.targets[n] : 0;
}

void vgic_shared_send_to(struct vm *vm, uint32_t interrupt, uint32_t vcpus) {
    struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t n = vgic_shared_find(vm, interrupt);
    if (n == MAX_SHARED)
        return;
    lock(&shared->lock);
    __atomic_store_n(&shared->targets[n], (uint8_t)(vcpus & ((1U << vm->config->vcpus) - 1)),
                     __ATOMIC_SEQ_CST);
    apply(vm, n);
    unlock(&shared->lock);
}
