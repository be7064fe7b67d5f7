/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A counter of the PMU's counts the events that reservations have, and interrupts at its end. */
#include "../counter.h"

#include "../../../core/arch.h"
#include "../../../core/platform.h"
#include "../sysreg.h"

/* This counter's bit in the registers that have one for each; all cores are alike. */
static uint64_t counter_bit;

/* Preset so that the 32nd bit overflows after as many events. A core's own, so no lock. */
static struct counter {
    bool is_on;
    uint32_t preset;
} counters[MAX_CORES];

void counter_init(uint32_t last) {
    counter_bit = BIT(last);
    sysreg_write(pmselr_el0, last);
    isb();
    /* Events of EL1 and EL0. What a guest counts by PMSWINC_EL0 we write for it, at EL2. */
    uint64_t filter = platform.memory_event == PMU_EVENT_SW_INCR ? PMEVTYPER_NSH : 0;
    sysreg_write(pmxevtyper_el0, platform.memory_event | filter);
    isb();
}

/* The counter may be on: it counts nothing at EL2 but what counter_software_increment does. */
void arch_counter_arm(uint32_t events) {
    struct counter *counter = &counters[arch_vcpu()->core];
    uint64_t bit = counter_bit;
    counter->preset = 0U - events;
    /* In this order: an overflow of the new count is never cleared. */
    sysreg_write(pmovsclr_el0, bit);
    sysreg_write(pmxevcntr_el0, counter->preset);
    if (counter->is_on)
        return;
    counter->is_on = true;
    sysreg_write(pmintenset_el1, bit);
    sysreg_write(pmcntenset_el0, bit);
    isb();
}

uint32_t arch_counter_used(void) {
    const struct counter *counter = &counters[arch_vcpu()->core];
    return counter->is_on ? (uint32_t)sysreg_read(pmxevcntr_el0) - counter->preset : 0;
}

void arch_counter_off(void) {
    counters[arch_vcpu()->core].is_on = false;
    sysreg_write(pmintenclr_el1, counter_bit);
    sysreg_write(pmcntenclr_el0, counter_bit);
    sysreg_write(pmovsclr_el0, counter_bit);
    isb();
}

void counter_clear_overflow(void) {
    sysreg_write(pmovsclr_el0, counter_bit);
    isb();
}

void counter_software_increment(uint64_t value) {
    if (platform.memory_event == PMU_EVENT_SW_INCR && value)
        sysreg_write(pmswinc_el0, counter_bit);
}
