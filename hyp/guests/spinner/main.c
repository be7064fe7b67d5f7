/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Counts down and says how long that took: what the hypervisor takes of a guest that asks nothing
 * of it.
 *
 * Argument: rounds of two instructions.
 */
#include "guest.h"

void interrupt(void) {
}

void secondary(uint64_t vcpu) {
    (void)vcpu;
}

void main(uint64_t rounds, uint64_t unused, uint64_t unused_too, uint64_t and_this) {
    (void)unused;
    (void)unused_too;
    (void)and_this;
    uint64_t left = rounds;
    uint64_t began_ns = now_ns();
    __asm__ volatile("0: subs %0, %0, #1\n b.ne 0b" : "+r"(left)::"cc");
    print("%u rounds in %u ns\n", rounds, now_ns() - began_ns);
}
