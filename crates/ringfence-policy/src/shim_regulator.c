/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Gives the inline functions of regulator.h and budget.h external linkage for the Rust face. */
#include <ringfence/budget.h>
#include <ringfence/regulator.h>

/* src/regulator/ffi.rs mirrors these layouts. */
_Static_assert(sizeof(struct rf_budget_core) == 40, "layout of rf_budget_core");
_Static_assert(sizeof(struct rf_regulator) == 24 + RF_MAX_PARTITIONS * 20 + RF_MAX_CPUS * 40,
               "layout of rf_regulator");

bool shim_budget_events_per_period(uint64_t bytes_per_second, uint64_t period_ns,
                                   uint32_t bytes_per_event, uint64_t *events) {
    return rf_budget_events_per_period(bytes_per_second, period_ns, bytes_per_event, events);
}

enum rf_regulator_status shim_regulator_init(struct rf_regulator *regulator,
                                             const struct rf_cpu_set *cpus) {
    return rf_regulator_init(regulator, cpus);
}

enum rf_regulator_status shim_regulator_gang_running(struct rf_regulator *regulator,
                                                     uint32_t partition,
                                                     const struct rf_budget *tolerance,
                                                     struct rf_cpu_set *throttled) {
    return rf_regulator_gang_running(regulator, partition, tolerance, throttled);
}

enum rf_regulator_status shim_regulator_gang_stopped(struct rf_regulator *regulator,
                                                     uint32_t partition,
                                                     struct rf_cpu_set *unthrottled) {
    return rf_regulator_gang_stopped(regulator, partition, unthrottled);
}

enum rf_regulator_status shim_regulator_charge(struct rf_regulator *regulator, uint32_t cpu,
                                               uint64_t reads, uint64_t writes) {
    return rf_regulator_charge(regulator, cpu, reads, writes);
}

void shim_regulator_refill(struct rf_regulator *regulator, struct rf_cpu_set *unthrottled) {
    rf_regulator_refill(regulator, unthrottled);
}

bool shim_regulator_is_throttled(const struct rf_regulator *regulator, uint32_t cpu) {
    return rf_regulator_is_throttled(regulator, cpu);
}

enum rf_regulator_status shim_regulator_remaining(const struct rf_regulator *regulator,
                                                  uint32_t cpu, struct rf_budget *remaining) {
    return rf_regulator_remaining(regulator, cpu, remaining);
}
