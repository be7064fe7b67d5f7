/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Gives the inline functions of lending.h external linkage for the Rust face. */
#include <ringfence/lending.h>

/* src/lending/ffi.rs mirrors these layouts. */
_Static_assert(sizeof(struct rf_lending_pool) == 16, "layout of rf_lending_pool");
_Static_assert(sizeof(struct rf_lending_vcpu) == 24, "layout of rf_lending_vcpu");

void shim_lending_init(struct rf_lending_pool *pool) {
    rf_lending_init(pool);
}

void shim_lending_init_vcpu(struct rf_lending_vcpu *vcpu) {
    rf_lending_init_vcpu(vcpu);
}

uint64_t shim_lending_begin(struct rf_lending_pool *pool, struct rf_lending_vcpu *vcpu,
                            uint64_t period, uint64_t left, bool lends) {
    return rf_lending_begin(pool, vcpu, period, left, lends);
}

uint64_t shim_lending_use(struct rf_lending_vcpu *vcpu, uint64_t events, uint64_t left) {
    return rf_lending_use(vcpu, events, left);
}

uint64_t shim_lending_borrow(struct rf_lending_pool *pool, struct rf_lending_vcpu *vcpu,
                             uint64_t most) {
    return rf_lending_borrow(pool, vcpu, most);
}
