/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The end of a period as it almost always is: the next one begins now and is like the one before, the
 * vCPU has something left, its VM takes no part in lending, and nobody looks at its statistics. Policy's
 * rf_reservation_go_on decides; all else is regulate.c's.
 *
 * No lock is taken, for nothing is written but what is this vCPU's own. A change (change.c) forbids
 * this way to all vCPUs of the VM and looks at the clock then; here it is the clock first, then whether
 * the way is free. So either the way is found closed, or the period that begins here had begun when
 * the change looked, and is not the one that changes.
 */
#ifndef RINGFENCE_HYP_GO_ON_H
#define RINGFENCE_HYP_GO_ON_H

#include "arch.h"
#include "trace.h"

#define NS_PER_S 1000000000U

/* Makes the period behind the next one the next one. */
static inline void expect_next(struct regulation *regulation) {
    struct deadline next = regulation->next;
    struct ticks length = regulation->length;
    next.tick += length.ticks;
    if (next.ahead < length.rest) {
        next.ahead += NS_PER_S;
        next.tick++;
    }
    next.ahead -= length.rest;
    regulation->next = next;
}

/* The timer comes when the next period begins, and never early. */
static inline void await_next(const struct regulation *regulation) {
    arch_period_timer_set(regulation->next.tick);
}

/*
 * Whether the period that begins now is the next one; it is unless the timer came early or, by
 * whole ticks, `within` late.
 */
static inline bool is_next(const struct regulation *regulation, uint64_t now, uint64_t within) {
    return now - regulation->next.tick < within;
}

/* What a counter can be armed for. */
static inline uint32_t countable(uint64_t events) {
    return events < ARCH_COUNTER_MAX ? (uint32_t)events : ARCH_COUNTER_MAX;
}

/* False, and nothing has changed, if the period's end is to go the long way, regulate_period(). */
static inline bool go_on(struct vcpu *vcpu) {
    struct regulation *regulation = &vcpu->regulation;
    uint64_t now = arch_now();
    if (!is_next(regulation, now, __atomic_load_n(&regulation->alike, __ATOMIC_RELAXED)))
        return false;
    uint32_t used = arch_counter_used(vcpu);
    uint64_t left = rf_reservation_go_on(&vcpu->vm->reservation, vcpu->index, used);
    if (left == 0)
        return false;
    regulation->refills++;
    trace_count(vcpu, used);
    trace(vcpu, TRACE_REFILL);
    expect_next(regulation);
    await_next(regulation);
    arch_counter_arm_again(vcpu, countable(left));
    return true;
}

#endif
