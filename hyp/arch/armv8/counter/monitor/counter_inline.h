/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the monitor has for a vCPU's core. */
#ifndef RINGFENCE_HYP_COUNTER_INLINE_H
#define RINGFENCE_HYP_COUNTER_INLINE_H

#include "bus_monitor.h"
#include "platform.h"
#include "sysreg.h"
#include "vm.h"

static inline volatile struct bus_monitor_core *monitor_of(const struct vcpu *vcpu) {
    return (volatile struct bus_monitor_core *)(uintptr_t)platform.bus_monitor + vcpu->core;
}

/* It does not change at EL2: only guests' accesses are counted. */
static inline uint32_t monitor_count(const struct vcpu *vcpu) {
    return (uint32_t)(monitor_of(vcpu)->fills + monitor_of(vcpu)->write_backs);
}

static inline uint32_t arch_counter_used(const struct vcpu *vcpu) {
    return monitor_of(vcpu)->limit ? monitor_count(vcpu) - vcpu->regulation.counted : 0;
}

static inline void arch_counter_arm_again(struct vcpu *vcpu, uint32_t events) {
    arch_counter_arm(vcpu, events);
}

#endif
