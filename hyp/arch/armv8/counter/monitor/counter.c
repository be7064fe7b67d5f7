/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A bus monitor counts the events that reservations have, and interrupts at a limit. */
#include "../../counter.h"

#include "../../../../core/arch.h"

/* The PMU's own counters stay off. */
void counter_init(uint32_t last) {
    (void)last;
}

void arch_counter_arm(struct vcpu *vcpu, uint32_t events) {
    vcpu->regulation.counted = monitor_count(vcpu);
    monitor_of(vcpu)->limit = monitor_of(vcpu)->fills + monitor_of(vcpu)->write_backs + events;
    dsb();
}

void arch_counter_off(struct vcpu *vcpu) {
    monitor_of(vcpu)->limit = 0;
    dsb();
}

/* The new limit, or none, does it. */
void counter_clear_overflow(void) {
}

/* No event of this machine. */
void counter_software_increment(uint64_t value) {
    (void)value;
}
