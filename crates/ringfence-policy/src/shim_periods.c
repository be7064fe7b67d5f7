/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Gives the inline functions of periods.h external linkage for the Rust face. */
#include <ringfence/periods.h>

/* src/periods/ffi.rs mirrors these layouts. */
_Static_assert(sizeof(struct rf_period) == 24, "layout of rf_period");
_Static_assert(sizeof(struct rf_periods) == 48, "layout of rf_periods");

enum rf_periods_status shim_periods_init(struct rf_periods *vm, uint64_t length_ns) {
    return rf_periods_init(vm, length_ns);
}

void shim_periods_at(struct rf_periods *vm, uint64_t now_ns, struct rf_period *period) {
    rf_periods_at(vm, now_ns, period);
}

enum rf_periods_status shim_periods_change(struct rf_periods *vm, uint64_t now_ns,
                                           uint64_t length_ns, struct rf_period *from) {
    return rf_periods_change(vm, now_ns, length_ns, from);
}

uint64_t shim_periods_bandwidth(uint64_t budget, uint64_t length_ns) {
    return rf_periods_bandwidth(budget, length_ns);
}

uint64_t shim_periods_together(uint64_t one, uint64_t other) {
    return rf_periods_together(one, other);
}
