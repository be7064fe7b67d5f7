/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The clock that all cores share, and each core's EL2 timer (CNTHP), which begins periods. */
#include "../../core/arch.h"
#include "sysreg.h"

#define NS_PER_S 1000000000U

uint64_t arch_frequency(void) {
    return sysreg_read(cntfrq_el0);
}

/* Whole seconds and the rest apart, so that no product needs more than 64 bits. */
uint64_t arch_now_ns(void) {
    isb();
    uint64_t frequency = sysreg_read(cntfrq_el0);
    uint64_t ticks = sysreg_read(cntpct_el0);
    return ticks / frequency * NS_PER_S + ticks % frequency * NS_PER_S / frequency;
}

void arch_period_timer_on(void) {
    sysreg_write(cnthp_ctl_el2, CNTHP_ENABLE);
}

void arch_period_timer_off(void) {
    sysreg_write(cnthp_ctl_el2, 0);
    isb();
}
