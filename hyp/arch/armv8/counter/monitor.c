/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A bus monitor counts the events that reservations have, and interrupts at a limit. */
#include "../../../core/arch.h"
#include "../../../core/bus_monitor.h"
#include "../../../core/platform.h"
#include "../pmu.h"
#include "../sysreg.h"

/* What a core had counted when it was armed. A core's own, so no lock. */
static uint64_t begins[MAX_CORES];

static volatile struct bus_monitor_core *monitor_of(uint32_t core) {
    return (volatile struct bus_monitor_core *)(uintptr_t)platform.bus_monitor + core;
}

/* It does not change at EL2: only guests' accesses are counted. */
static uint64_t count_of(uint32_t core) {
    return monitor_of(core)->fills + monitor_of(core)->write_backs;
}

/* The PMU's own counters stay off. */
void counter_init(uint32_t last) {
    (void)last;
}

void arch_counter_arm(uint32_t events) {
    uint32_t core = arch_vcpu()->core;
    begins[core] = count_of(core);
    monitor_of(core)->limit = begins[core] + events;
    dsb();
}

uint32_t arch_counter_used(void) {
    uint32_t core = arch_vcpu()->core;
    return monitor_of(core)->limit ? (uint32_t)(count_of(core) - begins[core]) : 0;
}

void arch_counter_off(void) {
    monitor_of(arch_vcpu()->core)->limit = 0;
    dsb();
}

/* The new limit, or none, does it. */
void counter_clear_overflow(void) {
}

/* No event of this machine. */
void counter_software_increment(uint64_t value) {
    (void)value;
}
