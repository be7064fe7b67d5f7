/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What core/arch.h declares and each period needs; counter_inline.h has the counter's part. */
#ifndef RINGFENCE_HYP_ARCH_INLINE_H
#define RINGFENCE_HYP_ARCH_INLINE_H

#include "counter_inline.h"
#include "sysreg.h"

static inline struct vcpu *arch_vcpu(void) {
    return (struct vcpu *)(uintptr_t)sysreg_read(tpidr_el2);
}

/* Exceptions synchronise: it is not read before the interrupt is taken (DDI 0487 D1.3.1). */
static inline uint64_t arch_now(void) {
    uint64_t ticks = sysreg_read(cntpct_el0);
    isb();
    return ticks;
}

static inline void arch_period_timer_set(uint64_t at) {
    sysreg_write(cnthp_cval_el2, at);
}

static inline void arch_writes_done(void) {
    dsb();
}

#endif
