/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Distributor and redistributors as a guest reads and writes them, a 32 bit word at a time.
 * Registers that are not here read as zero and ignore writes, as IHI 0069 has it for interrupts
 * that are not implemented.
 */
#include "../../../core/arch.h"
#include "../../../core/platform.h"
#include "gic.h"
#include "gicv3.h"
#include "guest_map.h"
#include "sysreg.h"
#include "vgic.h"

/* GICD_TYPER: IDbits, 10 bits less one; ITLinesNumber, 0: no shared interrupts. */
#define GICD_TYPER_VALUE (9U << 19)

void vgic_map(const struct vm *vm) {
    (void)vm;
}

void vgic_reset_frames(struct vcpu *vcpu) {
    vcpu->arch = (struct vcpu_arch){.asleep = GICR_WAKER_SLEEP};
}

bool vgic_is_on(const struct vm *vm) {
    return vm->arch.distributor_control & GICD_CTLR_ENABLE_GROUP1;
}

static uint32_t distributor_read(const struct vm *vm, uint32_t offset) {
    switch (offset) {
    case GICD_CTLR:
        return vm->arch.distributor_control | GICD_CTLR_ARE | GICD_CTLR_DS;
    case GICD_TYPER:
        return GICD_TYPER_VALUE;
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
        return __atomic_load_n(&state->pending, __ATOMIC_ACQUIRE);
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

void vgic_write_word(struct vcpu *vcpu, uint64_t address, uint32_t value, uint32_t mask) {
    if (!in_distributor(address))
        redistributor_write(vcpu_of_frame(vcpu->vm, address),
                            (address - GUEST_REDISTRIBUTORS) % GICR_BYTES, value, mask);
    else if (address == GUEST_DISTRIBUTOR + GICD_CTLR)
        vcpu->vm->arch.distributor_control = value & GICD_CTLR_ENABLE_GROUP1;
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
