/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A counter of the PMU's counts the events that reservations have, and interrupts at its end. */
#include "../../counter.h"

#include "../../../../core/arch.h"
#include "../../../../core/platform.h"

/* This counter's bit in the registers that have one for each; all cores are alike. */
static uint64_t counter_bit;

void counter_init(uint32_t last) {
    counter_bit = BIT(last);
    sysreg_write(pmselr_el0, last);
    isb();
    /* Events of EL1 and EL0. What a guest counts by PMSWINC_EL0 we write for it, at EL2. */
    uint64_t filter = platform.memory_event == PMU_EVENT_SW_INCR ? PMEVTYPER_NSH : 0;
    sysreg_write(pmxevtyper_el0, platform.memory_event | filter);
    isb();
}

/* In this order: an overflow of the new count is never cleared. */
void arch_counter_arm(struct vcpu *vcpu, uint32_t events) {
    sysreg_write(pmovsclr_el0, counter_bit);
    arch_counter_arm_again(vcpu, events);
    sysreg_write(pmintenset_el1, counter_bit);
    sysreg_write(pmcntenset_el0, counter_bit);
    isb();
}

/* It stands where it is, so that nothing is used. */
void arch_counter_off(struct vcpu *vcpu) {
    sysreg_write(pmintenclr_el1, counter_bit);
    sysreg_write(pmcntenclr_el0, counter_bit);
    sysreg_write(pmovsclr_el0, counter_bit);
    isb();
    vcpu->regulation.counted = (uint32_t)sysreg_read(pmxevcntr_el0);
}

void counter_clear_overflow(void) {
    sysreg_write(pmovsclr_el0, counter_bit);
    isb();
}

void counter_software_increment(uint64_t value) {
    if (platform.memory_event == PMU_EVENT_SW_INCR && value)
        sysreg_write(pmswinc_el0, counter_bit);
}
