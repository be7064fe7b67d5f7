/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "pmu.h"

#include "counter.h"
#include "sysreg.h"

static uint32_t last_counter(void) {
    return (uint32_t)PMCR_N(sysreg_read(pmcr_el0)) - 1;
}

void pmu_init(void) {
    uint32_t last = last_counter();
    sysreg_write(mdcr_el2, MDCR_HPMN(last) | MDCR_TPM | MDCR_TPMCR | MDCR_HPME);
    /* E is for guests' counters; QEMU gates the interrupt of ours by it, too. */
    sysreg_write(pmcr_el0, PMCR_E);
    sysreg_write(pmcntenclr_el0, ~0U);
    sysreg_write(pmintenclr_el1, ~0U);
    sysreg_write(pmovsclr_el0, ~0U);
    isb();
    counter_init(last);
}
