/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The CPU interface of GICv3: system registers, of the core that calls. */
#ifndef RINGFENCE_HYP_GIC_HARDWARE_H
#define RINGFENCE_HYP_GIC_HARDWARE_H

#include <stdbool.h>

#include "../../../core/vm.h"
#include "gicv3.h"
#include "sysreg.h"

/* Of what is acknowledged. */
#define GIC_INTERRUPT(acknowledged) (acknowledged)

static inline uint32_t gic_acknowledge(void) {
    uint32_t acknowledged = (uint32_t)sysreg_read(icc_iar1_el1);
    dsb();
    return acknowledged;
}

/* Others may come; this one stays active. */
static inline void gic_end(uint32_t acknowledged) {
    sysreg_write(icc_eoir1_el1, acknowledged);
}

/* No later than we return to the guest, or wait. */
static inline void gic_deactivate(uint32_t acknowledged) {
    sysreg_write(icc_dir_el1, acknowledged);
}

/* List registers: fields of a value. */
#define LIST_PENDING ICH_LR_PENDING
#define LIST_ACTIVE ICH_LR_ACTIVE
#define LIST_HARDWARE ICH_LR_HW
#define LIST_AT_END ICH_LR_AT_END
#define LIST_INTERRUPT(value) ((uint32_t)ICH_LR_INTID(value))
#define LIST_PRIORITY_OF(value) ICH_LR_PRIORITY_OF(value)

static inline uint32_t list_count(void) {
    return (uint32_t)ICH_VTR_LISTS(sysreg_read(ich_vtr_el2));
}

#define LIST_CASE(n)                                                                               \
    case n:                                                                                        \
        if (write)                                                                                 \
            sysreg_write(ich_lr##n##_el2, value);                                                  \
        else                                                                                       \
            value = sysreg_read(ich_lr##n##_el2);                                                  \
        break

/* List registers have no index. */
static inline uint64_t list_access(uint32_t n, bool write, uint64_t value) {
    switch (n) {
        LIST_CASE(0);
        LIST_CASE(1);
        LIST_CASE(2);
        LIST_CASE(3);
        LIST_CASE(4);
        LIST_CASE(5);
        LIST_CASE(6);
        LIST_CASE(7);
        LIST_CASE(8);
        LIST_CASE(9);
        LIST_CASE(10);
        LIST_CASE(11);
        LIST_CASE(12);
        LIST_CASE(13);
        LIST_CASE(14);
        LIST_CASE(15);
    }
    return value;
}

static inline uint64_t list_read(uint32_t n) {
    return list_access(n, false, 0);
}

static inline void list_write(uint32_t n, uint64_t value) {
    list_access(n, true, value);
}

static inline uint64_t list_value(uint32_t interrupt, uint64_t priority, bool is_hardware) {
    return interrupt | LIST_PENDING | ICH_LR_GROUP1 | ICH_LR_PRIORITY(priority) |
           (is_hardware ? LIST_HARDWARE | ICH_LR_PHYSICAL(interrupt) : 0);
}

/* An SGI is the same whoever has sent it. */
static inline bool list_take(struct vcpu *vcpu, uint64_t *value) {
    (void)vcpu;
    *value |= LIST_PENDING;
    return true;
}

static inline void list_give_back(struct vcpu *vcpu, uint64_t value) {
    (void)vcpu;
    (void)value;
}

/* Those whose end has brought us here, a bit each. */
static inline uint64_t lists_ended(void) {
    return sysreg_read(ich_eisr_el2);
}

static inline void lists_control(bool is_on, bool wants_room) {
    sysreg_write(ich_hcr_el2, (is_on ? ICH_HCR_EN : 0) | (wants_room ? ICH_HCR_UIE : 0));
}

/* Nor is any interrupt begun, of either group: its priority would hold up those to come. */
static inline void lists_reset_interface(void) {
    sysreg_write(ich_vmcr_el2, 0);
    sysreg_write(ich_ap0r0_el2, 0);
    sysreg_write(ich_ap1r0_el2, 0);
}

#endif
