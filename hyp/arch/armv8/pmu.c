/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "pmu.h"

#include "../../core/arch.h"
#include "../../core/platform.h"
#include "sysreg.h"

/* Preset so that the 32nd bit overflows after `armed` events. A core's own, so no lock. */
static struct {
    uint32_t armed;
    uint32_t preset;
} counters[MAX_CORES];

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
    sysreg_write(pmselr_el0, last);
    isb();
    /* Events of EL1 and EL0. What a guest counts by PMSWINC_EL0 we write for it, at EL2. */
    uint64_t filter = platform.memory_event == PMU_EVENT_SW_INCR ? PMEVTYPER_NSH : 0;
    sysreg_write(pmxevtyper_el0, platform.memory_event | filter);
    isb();
}

void arch_counter_arm(uint32_t events) {
    uint32_t core = arch_vcpu()->core;
    uint64_t bit = BIT(last_counter());
    counters[core].armed = events;
    counters[core].preset = 0U - events;
    sysreg_write(pmcntenclr_el0, bit);
    isb();
    sysreg_write(pmxevcntr_el0, counters[core].preset);
    sysreg_write(pmovsclr_el0, bit);
    sysreg_write(pmintenset_el1, bit);
    sysreg_write(pmcntenset_el0, bit);
    isb();
}

uint32_t arch_counter_used(void) {
    struct vcpu *vcpu = arch_vcpu();
    if (!counters[vcpu->core].armed)
        return 0;
    isb();
    return (uint32_t)sysreg_read(pmxevcntr_el0) - counters[vcpu->core].preset;
}

void arch_counter_off(void) {
    uint64_t bit = BIT(last_counter());
    counters[arch_vcpu()->core].armed = 0;
    sysreg_write(pmintenclr_el1, bit);
    sysreg_write(pmcntenclr_el0, bit);
    sysreg_write(pmovsclr_el0, bit);
    isb();
}

void pmu_clear_overflow(void) {
    sysreg_write(pmovsclr_el0, BIT(last_counter()));
    isb();
}

void pmu_software_increment(uint64_t value) {
    if (platform.memory_event == PMU_EVENT_SW_INCR && value)
        sysreg_write(pmswinc_el0, BIT(last_counter()));
}
