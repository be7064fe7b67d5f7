/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "vgic_shared.h"

#include "../../core/platform.h"
#include "gic.h"
#include "gicd.h"

/* The hardware's triggers have interrupts of several VMs in a word. */
static struct lock trigger_lock;

static uint32_t count_of(const struct vm *vm) {
    uint32_t count = 0;
    while (count < MAX_SHARED && vm->config->interrupts[count])
        count++;
    return count;
}

uint32_t vgic_shared_find(const struct vm *vm, uint32_t interrupt) {
    for (uint32_t n = 0; n < count_of(vm); n++)
        if (vm->config->interrupts[n] == interrupt)
            return n;
    return MAX_SHARED;
}

uint32_t vgic_shared_words(const struct vm *vm) {
    uint32_t last = 0;
    for (uint32_t n = 0; n < count_of(vm); n++)
        if (vm->config->interrupts[n] > last)
            last = vm->config->interrupts[n];
    return last / 32;
}

/* A set of the VM's interrupts as a register has it whose first bit is of interrupt `first`. */
static uint32_t bits_of(const struct vm *vm, uint32_t set, uint32_t first) {
    uint32_t bits = 0;
    for (uint32_t n = 0; n < count_of(vm); n++) {
        uint32_t bit = vm->config->interrupts[n] - first;
        if (bit < 32 && set >> n & 1)
            bits |= 1U << bit;
    }
    return bits;
}

/* And back; what is not the VM's is left out. */
static uint32_t set_of(const struct vm *vm, uint32_t bits, uint32_t first) {
    uint32_t set = 0;
    for (uint32_t n = 0; n < count_of(vm); n++) {
        uint32_t bit = vm->config->interrupts[n] - first;
        if (bit < 32 && bits >> bit & 1)
            set |= 1U << n;
    }
    return set;
}

/* As in a register with two bits an interrupt: both bits of those that are the VM's. */
static uint32_t trigger_mask(const struct vm *vm, uint32_t first) {
    uint32_t mask = 0;
    for (uint32_t n = 0; n < count_of(vm); n++) {
        uint32_t field = vm->config->interrupts[n] - first;
        if (field < 16)
            mask |= 3U << field * 2;
    }
    return mask;
}

/* As the guest has it. Under the VM's lock. */
static void apply(const struct vm *vm, uint32_t n) {
    const struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t targets = shared->targets[n] & ((1U << vm->config->vcpus) - 1);
    if (shared->enabled >> n & 1 && targets)
        gic_shared_enable(vm->config->interrupts[n], vm->config->cores[__builtin_ctz(targets)]);
    else
        gic_shared_disable(vm->config->interrupts[n]);
}

static void apply_all(const struct vm *vm, uint32_t set) {
    for (; set; set &= set - 1)
        apply(vm, (uint32_t)__builtin_ctz(set));
}

void vgic_shared_reset(struct vm *vm) {
    for (uint32_t n = 0; n < MAX_SHARED; n++)
        vm->arch.shared.targets[n] = 1;
}

void vgic_shared_off(struct vm *vm) {
    struct shared_interrupts *shared = &vm->arch.shared;
    lock(&shared->lock);
    shared->enabled = 0;
    apply_all(vm, (uint32_t)((1ULL << count_of(vm)) - 1));
    unlock(&shared->lock);
}

void vgic_shared_route(struct vcpu *vcpu) {
    struct vm *vm = vcpu->vm;
    lock(&vm->arch.shared.lock);
    apply_all(vm, vm->arch.shared.enabled);
    unlock(&vm->arch.shared.lock);
}

/* Those that have come to one of the VM's cores and are in no list register yet. */
static uint32_t waiting(const struct vm *vm) {
    uint64_t lines = 0;
    for (uint32_t v = 0; v < vm->config->vcpus; v++)
        lines |= __atomic_load_n(&vm->vcpu[v].arch.pending, __ATOMIC_ACQUIRE);
    return (uint32_t)(lines >> VGIC_PRIVATE);
}

static uint32_t read_bits(const struct vm *vm, uint32_t offset) {
    const struct shared_interrupts *shared = &vm->arch.shared;
    uint32_t at = offset % GICD_BIT_BYTES, first = at * 8;
    uint32_t own = bits_of(vm, ~0U, first);
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
    uint32_t value = 0, first = offset - GICD_IPRIORITYR;
    if (first < GICD_BYTE_BYTES) {
        for (uint32_t byte = 0; byte < 4; byte++) {
            uint32_t n = vgic_shared_find(vm, first + byte);
            value |= n < MAX_SHARED ? (uint32_t)vm->arch.shared.priority[n] << byte * 8 : 0;
        }
    } else if (offset - GICD_ICFGR < GICD_ICFGR_BYTES) {
        value = gic_shared_read(offset) & trigger_mask(vm, (offset - GICD_ICFGR) * 4);
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
        __atomic_store_n(&shared->enabled, shared->enabled | set, __ATOMIC_RELEASE);
        apply_all(vm, set);
        break;
    case GICD_ICENABLER:
        __atomic_store_n(&shared->enabled, shared->enabled & ~set, __ATOMIC_RELEASE);
        apply_all(vm, set);
        break;
    case GICD_ISPENDR:
    case GICD_ICPENDR: /* but for what has come to us */
        gic_shared_write(offset, bits_of(vm, set, first));
        break;
    default:
        break;
    }
}

static void write_trigger(const struct vm *vm, uint32_t offset, uint32_t value, uint32_t mask) {
    mask &= trigger_mask(vm, (offset - GICD_ICFGR) * 4);
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
    shared->targets[n] = (uint8_t)(vcpus & ((1U << vm->config->vcpus) - 1));
    apply(vm, n);
    unlock(&shared->lock);
}
