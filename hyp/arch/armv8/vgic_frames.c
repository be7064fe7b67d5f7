/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Distributor and redistributors as a guest reads and writes them, a 32 bit word at a time.
 * Registers that are not here read as zero and ignore writes, as IHI 0069 has it for interrupts
 * that are not implemented.
 */
#include "../../core/arch.h"
#include "../../core/platform.h"
#include "gicv3.h"
#include "sysreg.h"
#include "vgic.h"

/* GICD_TYPER: IDbits, 10 bits less one; ITLinesNumber, 0: no shared interrupts. */
#define GICD_TYPER_VALUE (9U << 19)

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

/* Guests have the frames where the platform has them; redistributors, one a vCPU. */
static bool in_distributor(uint64_t address) {
    return address - platform.distributor < GICD_BYTES;
}

static struct vcpu *vcpu_of_frame(struct vm *vm, uint64_t address) {
    return &vm->vcpu[(address - platform.redistributors) / GICR_BYTES];
}

bool vgic_has(const struct vm *vm, uint64_t address) {
    return in_distributor(address) ||
           address - platform.redistributors < (uint64_t)vm->config->vcpus * GICR_BYTES;
}

static uint32_t read_word(struct vcpu *vcpu, uint64_t address) {
    if (in_distributor(address))
        return distributor_read(vcpu->vm, (uint32_t)(address - platform.distributor));
    return redistributor_read(vcpu_of_frame(vcpu->vm, address),
                              (address - platform.redistributors) % GICR_BYTES);
}

static void write_word(struct vcpu *vcpu, uint64_t address, uint32_t value, uint32_t mask) {
    if (!in_distributor(address))
        redistributor_write(vcpu_of_frame(vcpu->vm, address),
                            (address - platform.redistributors) % GICR_BYTES, value, mask);
    else if (address == platform.distributor + GICD_CTLR)
        vcpu->vm->arch.distributor_control = value & GICD_CTLR_ENABLE_GROUP1;
}

uint64_t vgic_read(struct vcpu *vcpu, uint64_t address, uint32_t bytes) {
    uint64_t low = read_word(vcpu, address & ~3ULL);
    if (bytes == 8)
        return low | (uint64_t)read_word(vcpu, address + 4) << 32;
    return low >> address % 4 * 8 & (BIT(bytes * 8) - 1);
}

void vgic_write(struct vcpu *vcpu, uint64_t address, uint32_t bytes, uint64_t value) {
    uint32_t shift = address % 4 * 8;
    uint32_t mask = (uint32_t)((bytes >= 4 ? ~0ULL : BIT(bytes * 8) - 1) << shift);
    write_word(vcpu, address & ~3ULL, (uint32_t)(value << shift), mask);
    if (bytes == 8)
        write_word(vcpu, address + 4, (uint32_t)(value >> 32), ~0U);
}
