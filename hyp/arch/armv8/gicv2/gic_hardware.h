/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The CPU interface of GICv2: registers in memory, banked for each core. */
#ifndef RINGFENCE_HYP_GIC_HARDWARE_H
#define RINGFENCE_HYP_GIC_HARDWARE_H

#include <stdbool.h>

#include "../../../core/vm.h"
#include "gicv2.h"
#include "sysreg.h"

/* Of what is acknowledged; the rest is the core that sent it. */
#define GIC_INTERRUPT(acknowledged) ((acknowledged) & 0x3ffU)

static inline uint32_t gic_acknowledge(void) {
    uint32_t acknowledged = *gic_word(platform.cpu_interface, GICC_IAR);
    dsb();
    return acknowledged;
}

/* Others may come; this one stays active. */
static inline void gic_end(uint32_t acknowledged) {
    *gic_word(platform.cpu_interface, GICC_EOIR) = acknowledged;
}

static inline void gic_deactivate(uint32_t acknowledged) {
    *gic_word(platform.cpu_interface, GICC_DIR) = acknowledged;
    dsb();
}

/* List registers: fields of a value. */
#define LIST_PENDING GICH_LR_PENDING
#define LIST_ACTIVE GICH_LR_ACTIVE
#define LIST_HARDWARE GICH_LR_HARDWARE
#define LIST_AT_END GICH_LR_AT_END
#define LIST_INTERRUPT(value) GICH_LR_INTERRUPT(value)
#define LIST_PRIORITY_OF(value) GICH_LR_PRIORITY_OF(value)

static inline uint32_t list_count(void) {
    return GICH_VTR_LISTS(*gic_word(platform.virtual_control, GICH_VTR));
}

static inline uint64_t list_read(uint32_t n) {
    return *gic_word(platform.virtual_control, GICH_LR + n * 4);
}

static inline void list_write(uint32_t n, uint64_t value) {
    *gic_word(platform.virtual_control, GICH_LR + n * 4) = (uint32_t)value;
}

/* An SGI is not pending yet: list_take adds it and its sender. */
static inline uint64_t list_value(uint32_t interrupt, uint64_t priority, bool is_hardware) {
    return interrupt | GICH_LR_PRIORITY(priority) |
           (is_hardware ? LIST_HARDWARE | GICH_LR_PHYSICAL(interrupt) : 0);
}

/*
 * SGIs of several senders come one after the other (IHI 0048B 5.2.1: an interrupt is in one list
 * register at most): the end of one brings us here for the next.
 */
static inline bool list_take(struct vcpu *vcpu, uint64_t *value) {
    uint32_t interrupt = LIST_INTERRUPT(*value);
    if (interrupt >= VGIC_SGIS) {
        *value |= LIST_PENDING;
        return true;
    }
    uint8_t *senders = &vcpu->arch.senders[interrupt];
    uint32_t from = __atomic_load_n(senders, __ATOMIC_ACQUIRE);
    if (!(*value & (LIST_PENDING | LIST_ACTIVE)) && from)
        *value |= GICH_LR_SENDER(__builtin_ctz(from));
    uint32_t bit = 1U << GICH_LR_SENDER_OF(*value);
    /* Without one there is nothing left: it was taken before it was told. */
    if (from & bit)
        *value |= LIST_PENDING;
    bool is_all = (__atomic_fetch_and(senders, (uint8_t)~bit, __ATOMIC_ACQ_REL) & ~bit) == 0;
    if (!is_all)
        *value |= GICH_LR_AT_END;
    return is_all;
}

static inline void list_give_back(struct vcpu *vcpu, uint64_t value) {
    if (LIST_INTERRUPT(value) < VGIC_SGIS)
        __atomic_fetch_or(&vcpu->arch.senders[LIST_INTERRUPT(value)],
                          (uint8_t)(1U << GICH_LR_SENDER_OF(value)), __ATOMIC_ACQ_REL);
}

/* Those whose end has brought us here, a bit each. */
static inline uint64_t lists_ended(void) {
    return *gic_word(platform.virtual_control, GICH_EISR0) |
           (uint64_t)*gic_word(platform.virtual_control, GICH_EISR1) << 32;
}

static inline void lists_control(bool is_on, bool wants_room) {
    *gic_word(platform.virtual_control, GICH_HCR) =
        (is_on ? GICH_HCR_EN : 0) | (wants_room ? GICH_HCR_UIE : 0);
}

/* Nor is any interrupt begun: its priority would hold up those to come. */
static inline void lists_reset_interface(void) {
    *gic_word(platform.virtual_control, GICH_APR) = 0;
    *gic_word(platform.virtual_control, GICH_VMCR) = 0;
}

#endif
