/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Distributor and redistributors as a guest reads and writes them, a 32 bit word at a time.
 * The distributor's about shared interrupts are vgic_shared.c's. Registers that are not here read as
 * zero and ignore writes, as IHI 0069 has it for interrupts that are not implemented.
 */
#include "../../../core/arch.h"
#include "../../../core/platform.h"
#include "gic.h"
#include "gicv3.h"
#include "guest_map.h"
#include "sysreg.h"
#include "vgic.h"
#include "vgic_shared.h"

/* GICD_TYPER: IDbits, 10 bits less one; ITLinesNumber. */
#define GICD_TYPER_VALUE(lines) (9U << 19 | (lines))
#define AFFINITIES_2_TO_0 0xffffffU

void vgic_map(const struct vm *vm) {
    (void)vm;
}

void vgic_reset_frames(struct vcpu *vcpu) {
    vcpu->arch = (struct vcpu_arch){.asleep = GICR_WAKER_SLEEP};
}

bool vgic_is_on(const struct vm *vm) {
    return vm->arch.distributor_control & GICD_CTLR_ENABLE_GROUP1;
}

static uint32_t all_vcpus(const struct vm *vm) {
    return (1U << vm->config->vcpus) - 1;
}

/* A double word each for shared interrupts: the affinity of the vCPU that it is sent to, its number;
 * with GICD_IROUTER_ANY of whichever. The upper half, affinity 3, is 0. */
static bool is_route(uint32_t offset) {
    return offset - (GICD_IROUTER + FIRST_SHARED * 8) < (INTID_SPECIAL - FIRST_SHARED) * 8;
}

static uint32_t read_route(const struct vm *vm, uint32_t offset) {
    uint32_t targets = vgic_shared_targets(vm, (offset - GICD_IROUTER) / 8);
    if (offset % 8 || !targets)
        return 0;
    bool is_any = targets == all_vcpus(vm) && vm->config->vcpus > 1;
    return is_any ? GICD_IROUTER_ANY : (uint32_t)__builtin_ctz(targets);
}

static void write_route(struct vm *vm, uint32_t offset, uint32_t value) {
    uint32_t vcpu = value & AFFINITIES_2_TO_0;
    uint32_t targets = vcpu < vm->config->vcpus ? 1U << vcpu : 0;
    if (offset % 8 == 0)
        vgic_shared_send_to(vm, (offset - GICD_IROUTER) / 8,
                            value & GICD_IROUTER_ANY ? all_vcpus(vm) : targets);
}

static uint32_t distributor_read(const struct vm *vm, uint32_t offset) {
    if (vgic_shared_has(offset))
        return vgic_shared_read(vm, offset);
    if (is_route(offset))
        return read_route(vm, offset);
    switch (offset) {
    case GICD_CTLR:
        return vm->arch.distributor_control | GICD_CTLR_ARE | GICD_CTLR_DS;
    case GICD_TYPER:
        return GICD_TYPER_VALUE(vgic_shared_words(vm));
    case GIC_PIDR2:
        return GIC_PIDR2_GICV3;
    default:
        return 0;
    }
}

static uint32_t redistributor_read(const struct vcpu *vcpu, uint32_t offset) {
    bool is_last = vcpu->index == vcpu->vm->config->vcpus - 1;
    const struct vcpu_arch *state = &vcpu->arch;
    switch (offset) {
    case GICR_TYPER:
        return vcpu->index << 8 | (is_last ? GICR_TYPER_LAST : 0);
    case GICR_TYPER + 4: /* affinity */
        return vcpu->index;
    case GICR_WAKER:
        return state->asleep ? GICR_WAKER_SLEEP | GICR_WAKER_ASLEEP : 0;
    case GIC_PIDR2:
        return GIC_PIDR2_GICV3;
    case GICR_SGI_BASE + GICR_IGROUPR0:
        return state->group;
    case GICR_SGI_BASE + GICR_ISENABLER0:
    case GICR_SGI_BASE + GICR_ICENABLER0:
        return state->enabled;
    case GICR_SGI_BASE + GICR_ISPENDR0:
    case GICR_SGI_BASE + GICR_ICPENDR0:
        return (uint32_t)__atomic_load_n(&state->pending, __ATOMIC_ACQUIRE);
    case GICR_SGI_BASE + GICR_ICFGR1:
        return state->trigger;
    default:
        break;
    }
    uint32_t priority = offset - (GICR_SGI_BASE + GICR_IPRIORITYR);
    return priority < VGIC_PRIVATE ? state->priority[priority / 4] : 0;
}

/* The timer's interrupt is on in the hardware only while its guest wants it. */
static void set_enabled(struct vcpu *vcpu, uint32_t enabled) {
    uint32_t timer = 1U << platform.guest_timer_interrupt;
    uint32_t changed = vcpu->arch.enabled ^ enabled;
    vcpu->arch.enabled = enabled;
    if (changed & timer)
        gic_enable_private(vcpu->core, platform.guest_timer_interrupt, enabled & timer);
}

static uint32_t merged(uint32_t old, uint32_t value, uint32_t mask) {
    return (old & ~mask) | (value & mask);
}

static void redistributor_write(struct vcpu *vcpu, uint32_t offset, uint32_t value, uint32_t mask) {
    struct vcpu_arch *state = &vcpu->arch;
    switch (offset) {
    case GICR_WAKER:
        state->asleep = value & GICR_WAKER_SLEEP;
        return;
    case GICR_SGI_BASE + GICR_IGROUPR0:
        state->group = merged(state->group, value, mask);
        return;
    case GICR_SGI_BASE + GICR_ISENABLER0:
        set_enabled(vcpu, state->enabled | (value & mask));
        return;
    case GICR_SGI_BASE + GICR_ICENABLER0:
        set_enabled(vcpu, state->enabled & ~(value & mask));
        return;
    case GICR_SGI_BASE + GICR_ICFGR1:
        state->trigger = merged(state->trigger, value, mask);
        return;
    default:
        break;
    }
    uint32_t priority = offset - (GICR_SGI_BASE + GICR_IPRIORITYR);
    if (priority < VGIC_PRIVATE)
        state->priority[priority / 4] = merged(state->priority[priority / 4], value, mask);
}

/* Redistributors: one a vCPU. */
static bool in_distributor(uint64_t address) {
    return address - GUEST_DISTRIBUTOR < GICD_BYTES;
}

static struct vcpu *vcpu_of_frame(struct vm *vm, uint64_t address) {
    return &vm->vcpu[(address - GUEST_REDISTRIBUTORS) / GICR_BYTES];
}

bool vgic_has(const struct vm *vm, uint64_t address) {
    return in_distributor(address) ||
           address - GUEST_REDISTRIBUTORS < (uint64_t)vm->config->vcpus * GICR_BYTES;
}

uint32_t vgic_read_word(struct vcpu *vcpu, uint64_t address) {
    if (in_distributor(address))
        return distributor_read(vcpu->vm, (uint32_t)(address - GUEST_DISTRIBUTOR));
    return redistributor_read(vcpu_of_frame(vcpu->vm, address),
                              (address - GUEST_REDISTRIBUTORS) % GICR_BYTES);
}

static void distributor_write(struct vm *vm, uint32_t offset, uint32_t value, uint32_t mask) {
    if (vgic_shared_has(offset))
        vgic_shared_write(vm, offset, value, mask);
    else if (is_route(offset))
        write_route(vm, offset, merged(read_route(vm, offset), value, mask));
    else if (offset == GICD_CTLR)
        vm->arch.distributor_control = value & GICD_CTLR_ENABLE_GROUP1;
}

void vgic_write_word(struct vcpu *vcpu, uint64_t address, uint32_t value, uint32_t mask) {
    if (in_distributor(address))
        distributor_write(vcpu->vm, (uint32_t)(address - GUEST_DISTRIBUTOR), value, mask);
    else
        redistributor_write(vcpu_of_frame(vcpu->vm, address),
                            (address - GUEST_REDISTRIBUTORS) % GICR_BYTES, value, mask);
}

#define SYSREG_ICC_SGI1R SYSREG(3, 0, 12, 11, 5)

static void send(struct vcpu *from, uint64_t sgi1r) {
    struct vm *vm = from->vm;
    bool to_others = SGI1R_IRM(sgi1r);
    /* The vCPUs of a VM differ in affinity 0 alone. */
    if (!to_others && sgi1r & SGI1R_AFFINITIES)
        return;
    for (uint32_t v = 0; v < vm->config->vcpus; v++) {
        bool is_meant = to_others ? v != from->index : SGI1R_TARGETS(sgi1r) >> v & 1;
        if (is_meant)
            vgic_send(from, &vm->vcpu[v], (uint32_t)SGI1R_INTID(sgi1r));
    }
}

bool vgic_system_register(struct vcpu *vcpu, uint64_t sysreg, uint64_t value) {
    if (sysreg == SYSREG_ICC_SGI1R)
        send(vcpu, value);
    return sysreg == SYSREG_ICC_SGI1R;
}
