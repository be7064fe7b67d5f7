/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The counter of this core, which PMSELR_EL0 selects; it counts nothing at EL2. */
#ifndef RINGFENCE_HYP_COUNTER_INLINE_H
#define RINGFENCE_HYP_COUNTER_INLINE_H

#include "sysreg.h"
#include "vm.h"

static inline uint32_t arch_counter_used(const struct vcpu *vcpu) {
    return (uint32_t)sysreg_read(pmxevcntr_el0) - vcpu->regulation.counted;
}

/* Preset so that the 32nd bit overflows after as many events. */
static inline void arch_counter_arm_again(struct vcpu *vcpu, uint32_t events) {
    vcpu->regulation.counted = 0U - events;
    sysreg_write(pmxevcntr_el0, vcpu->regulation.counted);
}

#endif
