/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The distributor as a guest reads and writes it, a 32 bit word at a time; its first words are each
 * vCPU's own, the others vgic_shared.c's. Registers that are not here read as zero and ignore writes,
 * as IHI 0048B has it for interrupts that are not implemented. SGIs are always enabled, which 4.3.5
 * leaves to us.
 */
#include "../../../core/arch.h"
#include "gic.h"
#include "gicv2.h"
#include "guest_map.h"
#include "tables.h"
#include "vgic.h"
#include "vgic_shared.h"

#define SGIS_MASK ((1U << VGIC_SGIS) - 1)
/* GICD_TYPER: CPUNumber, less one; ITLinesNumber. */
#define GICD_TYPER_VALUE(vcpus, lines) (((vcpus) - 1) << 5 | (lines))
#define GICD_ICFGR1 (GICD_ICFGR + 4)
/* GICD_SGIR */
#define SGIR_INTERRUPT(value) ((value) & 15U)
#define SGIR_TARGETS(value) ((value) >> 16 & 0xffU)
#define SGIR_FILTER(value) ((value) >> 24 & 3U)
enum { TO_LIST, TO_OTHERS, TO_SELF };

/* Its CPU interface is the hardware's own. */
void vgic_map(const struct vm *vm) {
    tables_map(vm->arch.stage2, GUEST_CPU_INTERFACE, platform.virtual_cpu_interface, GICC_BYTES,
               STAGE2_DEVICE | STAGE2_READ | STAGE2_WRITE | ACCESSED | EXECUTE_NEVER);
}

void vgic_reset_frames(struct vcpu *vcpu) {
    vcpu->arch = (struct vcpu_arch){.enabled = SGIS_MASK};
}

bool vgic_is_on(const struct vm *vm) {
    return vm->arch.distributor_control & GICD_CTLR_ENABLE;
}

bool vgic_has(const struct vm *vm, uint64_t address) {
    (void)vm;
    return address - GUEST_DISTRIBUTOR < GICD_BYTES;
}

/* A byte each for private interrupts, from a register on. */
static bool is_private(uint32_t offset, uint32_t from) {
    return offset - from < VGIC_PRIVATE;
}

/* A byte each for shared interrupts: the vCPUs that it is sent to. */
static bool is_target(uint32_t offset) {
    return offset - (GICD_ITARGETSR + VGIC_PRIVATE) < GICD_BYTE_BYTES - VGIC_PRIVATE;
}

static uint32_t read_targets(const struct vm *vm, uint32_t first) {
    uint32_t value = 0;
    for (uint32_t byte = 0; byte < 4; byte++)
        value |= vgic_shared_targets(vm, first + byte) << byte * 8;
    return value;
}

static void write_targets(struct vm *vm, uint32_t first, uint32_t value, uint32_t mask) {
    for (uint32_t byte = 0; byte < 4; byte++)
        if (mask >> byte * 8 & 1)
            vgic_shared_send_to(vm, first + byte, value >> byte * 8 & 0xff);
}

uint32_t vgic_read_word(struct vcpu *vcpu, uint64_t address) {
    const struct vcpu_arch *state = &vcpu->arch;
    uint32_t offset = (uint32_t)(address - GUEST_DISTRIBUTOR);
    if (vgic_shared_has(offset))
        return vgic_shared_read(vcpu->vm, offset);
    if (is_target(offset))
        return read_targets(vcpu->vm, offset - GICD_ITARGETSR);
    if (is_private(offset, GICD_IPRIORITYR))
        return state->priority[(offset - GICD_IPRIORITYR) / 4];
    if (is_private(offset, GICD_ITARGETSR))
        return 0x01010101U << vcpu->index;
    switch (offset) {
    case GICD_CTLR:
        return vcpu->vm->arch.distributor_control;
    case GICD_TYPER:
        return GICD_TYPER_VALUE(vcpu->vm->config->vcpus, vgic_shared_words(vcpu->vm));
    case GICD_ISENABLER:
    case GICD_ICENABLER:
        return state->enabled;
    case GICD_ISPENDR:
    case GICD_ICPENDR:
        return (uint32_t)__atomic_load_n(&state->pending, __ATOMIC_ACQUIRE);
    case GICD_ICFGR: /* SGIs are edges */
        return 0xaaaaaaaaU;
    case GICD_ICFGR1:
        return state->trigger;
    case GICD_PIDR2:
        return GICD_PIDR2_GICV2;
    default:
        return 0;
    }
}

/* The timer's interrupt is on in the hardware only while its guest wants it. */
static void set_enabled(struct vcpu *vcpu, uint32_t enabled) {
    uint32_t timer = 1U << platform.guest_timer_interrupt;
    uint32_t changed = vcpu->arch.enabled ^ enabled;
    vcpu->arch.enabled = enabled | SGIS_MASK;
    if (changed & timer)
        gic_enable_private(vcpu->core, platform.guest_timer_interrupt, enabled & timer);
}

static void send(struct vcpu *from, uint32_t value) {
    struct vm *vm = from->vm;
    uint32_t interrupt = SGIR_INTERRUPT(value);
    uint32_t self = 1U << from->index;
    uint32_t targets[] = {[TO_LIST] = SGIR_TARGETS(value), [TO_OTHERS] = ~self, [TO_SELF] = self};
    if (SGIR_FILTER(value) > TO_SELF)
        return;
    for (uint32_t v = 0; v < vm->config->vcpus; v++) {
        if (!(targets[SGIR_FILTER(value)] >> v & 1))
            continue;
        __atomic_fetch_or(&vm->vcpu[v].arch.senders[interrupt], (uint8_t)self, __ATOMIC_ACQ_REL);
        vgic_send(from, &vm->vcpu[v], interrupt);
    }
}

static uint32_t merged(uint32_t old, uint32_t value, uint32_t mask) {
    return (old & ~mask) | (value & mask);
}

void vgic_write_word(struct vcpu *vcpu, uint64_t address, uint32_t value, uint32_t mask) {
    struct vcpu_arch *state = &vcpu->arch;
    uint32_t offset = (uint32_t)(address - GUEST_DISTRIBUTOR);
    uint32_t *priority = &state->priority[(offset - GICD_IPRIORITYR) / 4 % (VGIC_PRIVATE / 4)];
    if (vgic_shared_has(offset))
        vgic_shared_write(vcpu->vm, offset, value, mask);
    if (is_target(offset))
        write_targets(vcpu->vm, offset - GICD_ITARGETSR, value, mask);
    if (is_private(offset, GICD_IPRIORITYR))
        *priority = merged(*priority, value, mask);
    switch (offset) {
    case GICD_CTLR:
        vcpu->vm->arch.distributor_control = value & GICD_CTLR_ENABLE;
        break;
    case GICD_ISENABLER:
        set_enabled(vcpu, state->enabled | (value & mask));
        break;
    case GICD_ICENABLER:
        set_enabled(vcpu, state->enabled & ~(value & mask));
        break;
    case GICD_ICFGR1:
        state->trigger = merged(state->trigger, value, mask);
        break;
    case GICD_SGIR:
        send(vcpu, value);
        break;
    default:
        break;
    }
}

bool vgic_system_register(struct vcpu *vcpu, uint64_t sysreg, uint64_t value) {
    (void)vcpu;
    (void)sysreg;
    (void)value;
    return false;
}
