/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Gives the inline functions of reservation.h external linkage for the Rust face. */
#include <ringfence/reservation.h>

/* src/reservation/ffi.rs mirrors these layouts. */
_Static_assert(sizeof(struct rf_reservation_vcpu) == 32, "layout of rf_reservation_vcpu");
_Static_assert(sizeof(struct rf_reservation) == 40 + RF_RESERVATION_MAX_VCPUS * 52,
               "layout of rf_reservation");

enum rf_reservation_status shim_reservation_init(struct rf_reservation *vm, uint64_t budget,
                                                 const uint32_t *weights, uint32_t vcpus) {
    return rf_reservation_init(vm, budget, weights, vcpus);
}

enum rf_reservation_status shim_reservation_change(struct rf_reservation *vm, uint64_t period,
                                                   uint64_t budget) {
    return rf_reservation_change(vm, period, budget);
}

enum rf_reservation_status shim_reservation_refill(struct rf_reservation *vm, uint32_t vcpu,
                                                   uint64_t period) {
    return rf_reservation_refill(vm, vcpu, period);
}

enum rf_reservation_status shim_reservation_charge(struct rf_reservation *vm, uint32_t vcpu,
                                                   uint64_t events) {
    return rf_reservation_charge(vm, vcpu, events);
}

enum rf_reservation_status shim_reservation_remaining(const struct rf_reservation *vm,
                                                      uint32_t vcpu, uint64_t *events) {
    return rf_reservation_remaining(vm, vcpu, events);
}

uint64_t shim_reservation_go_on(struct rf_reservation *vm, uint32_t vcpu, uint64_t events) {
    return rf_reservation_go_on(vm, vcpu, events);
}
