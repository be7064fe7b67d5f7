/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "regulate.h"

#include "arch.h"
#include "lend.h"
#include "statistics.h"
#include "trace.h"

#define NS_PER_S 1000000000U

const char *regulate_init(struct vm *vm) {
    const struct reservation_config *config = &vm->config->reservation;
    rf_periods_init(&vm->periods, config->period_ns);
    switch (
        rf_reservation_init(&vm->reservation, config->budget, config->weights, vm->config->vcpus)) {
    case RF_RESERVATION_OK:
        return 0;
    case RF_RESERVATION_BAD_WEIGHTS:
        return "the weights of its reservation add up to 0, or to more than 2^32 - 1";
    case RF_RESERVATION_BAD_BUDGET:
        return "the budget of its reservation is 2^64 - 1, expected less";
    default:
        return "its reservation is for another number of vCPUs than policy can have";
    }
}

/* Few VMs have statistics or take part in lending; the others are not to pay for it in each period. */
static inline bool has_extras(const struct vcpu *vcpu) {
    return vcpu->regulation.line || vcpu->regulation.lending;
}

/* Charges what was used since the counter was armed. Under the lock, unlike reading the counter. */
static inline void charge(struct vcpu *vcpu, uint64_t used, bool extras) {
    trace_count(vcpu, used);
    uint64_t of_share = extras && vcpu->regulation.lending ? lend_use(vcpu, used) : used;
    if (extras && vcpu->regulation.line)
        statistics_charge(vcpu, used, of_share);
    rf_reservation_charge(&vcpu->vm->reservation, vcpu->index, of_share);
}

/* What the vCPU has left, with nothing more to be done under the lock. */
static inline uint64_t remaining(struct vcpu *vcpu, bool extras) {
    uint64_t left = 0;
    rf_reservation_remaining(&vcpu->vm->reservation, vcpu->index, &left);
    if (extras && vcpu->regulation.lending)
        left += lend_more(vcpu, left);
    if (extras && vcpu->regulation.line)
        statistics_publish(vcpu, left == 0);
    return left;
}

/* Counts down what the vCPU has left; throttles it if that is nothing. */
static inline void arm(struct vcpu *vcpu, uint64_t left) {
    if (vcpu->regulation.throttled != (left == 0))
        trace(vcpu, left ? TRACE_RESUME : TRACE_THROTTLE);
    vcpu->regulation.throttled = left == 0;
    if (left)
        arch_counter_arm(left < ARCH_COUNTER_MAX ? (uint32_t)left : ARCH_COUNTER_MAX);
    else
        arch_counter_off();
}

/* Whole seconds and the rest apart, so that no product needs more than 64 bits. */
static struct ticks ticks_of(uint64_t ns) {
    uint64_t frequency = arch_frequency();
    uint64_t rest = ns % NS_PER_S * frequency;
    return (struct ticks){ns / NS_PER_S * frequency + rest / NS_PER_S, rest % NS_PER_S};
}

/* Makes the period that the clock is in the next one. */
static __attribute__((noinline)) void find_period(struct vcpu *vcpu) {
    struct regulation *regulation = &vcpu->regulation;
    struct rf_periods *periods = &vcpu->vm->periods;
    struct rf_period period;
    rf_periods_at(periods, arch_now_ns(), &period);
    regulation->length = ticks_of(periods->length_ns);
    regulation->next_period = period.number;
    regulation->next_begin = ticks_of(period.begin_ns);
    regulation->expected = periods->next_length_ns ? 0 : regulation->length.ticks;
}

/* Makes the one behind it the next one. */
static inline void expect_next(struct regulation *regulation) {
    struct ticks *next = &regulation->next_begin;
    regulation->next_period++;
    next->ticks += regulation->length.ticks;
    next->rest += regulation->length.rest;
    if (next->rest >= NS_PER_S) {
        next->rest -= NS_PER_S;
        next->ticks++;
    }
}

/* The timer comes when the next period begins, and never early. */
static inline void await_next(const struct regulation *regulation) {
    const struct ticks *next = &regulation->next_begin;
    arch_period_timer_set(next->ticks + (next->rest != 0));
}

/*
 * Whether the period that begins now is the next one; it is unless the timer came early or more
 * than a period late, or the length of periods changes.
 */
static inline bool is_expected(const struct regulation *regulation, uint64_t now) {
    uint64_t late = now - regulation->next_begin.ticks;
    return late != 0 && late < regulation->expected;
}

/* The period that begins now, if the vCPU has not begun it yet. */
static inline void begin_period(struct vcpu *vcpu, bool extras) {
    struct regulation *regulation = &vcpu->regulation;
    rf_reservation_refill(&vcpu->vm->reservation, vcpu->index, regulation->next_period);
    if (extras && regulation->lending)
        lend_begin(vcpu, regulation->next_period);
    expect_next(regulation);
}

void regulate_changes(struct vm *vm) {
    for (uint32_t v = 0; v < vm->config->vcpus; v++)
        vm->vcpu[v].regulation.expected = 0;
}

void regulate_start(struct vcpu *vcpu) {
    if (!is_regulated(vcpu->vm))
        return;
    uint64_t now = arch_now();
    lock(&vcpu->vm->lock);
    if (!is_expected(&vcpu->regulation, now))
        find_period(vcpu);
    begin_period(vcpu, true);
    uint64_t left = remaining(vcpu, true);
    unlock(&vcpu->vm->lock);
    await_next(&vcpu->regulation);
    arm(vcpu, left);
    arch_period_timer_on();
}

void regulate_off(struct vcpu *vcpu) {
    if (vcpu->vm->config->lending.lends)
        regulate_start(vcpu);
}

void regulate_stop(struct vcpu *vcpu) {
    if (!is_regulated(vcpu->vm))
        return;
    arch_period_timer_off();
    uint32_t used = arch_counter_used();
    lock(&vcpu->vm->lock);
    charge(vcpu, used, true);
    if (vcpu->regulation.line)
        statistics_publish(vcpu, false);
    unlock(&vcpu->vm->lock);
    arch_counter_off();
    vcpu->regulation.throttled = false;
}

void regulate_retry(struct vcpu *vcpu) {
    if (!vcpu->regulation.lending || !vcpu->regulation.throttled)
        return;
    lock(&vcpu->vm->lock);
    uint64_t left = remaining(vcpu, true);
    unlock(&vcpu->vm->lock);
    arm(vcpu, left);
}

void regulate_overflow(struct vcpu *vcpu) {
    vcpu->regulation.overflows++;
    uint32_t used = arch_counter_used();
    lock(&vcpu->vm->lock);
    charge(vcpu, used, true);
    uint64_t left = remaining(vcpu, true);
    unlock(&vcpu->vm->lock);
    arm(vcpu, left);
}

/* Under the lock, which it gives back. */
static inline __attribute__((always_inline)) void end_period(struct vcpu *vcpu, uint32_t used,
                                                             bool extras) {
    charge(vcpu, used, extras);
    trace(vcpu, TRACE_REFILL);
    begin_period(vcpu, extras);
    uint64_t left = remaining(vcpu, extras);
    unlock(&vcpu->vm->lock);
    await_next(&vcpu->regulation);
    arm(vcpu, left);
}

/* The same, where it is not what it almost always is. */
static __attribute__((noinline)) void end_odd_period(struct vcpu *vcpu, uint32_t used,
                                                     uint64_t now) {
    if (!is_expected(&vcpu->regulation, now))
        find_period(vcpu);
    end_period(vcpu, used, true);
}

void regulate_period(struct vcpu *vcpu) {
    vcpu->regulation.refills++;
    uint32_t used = arch_counter_used();
    uint64_t now = arch_now();
    lock(&vcpu->vm->lock);
    if (has_extras(vcpu) || !is_expected(&vcpu->regulation, now))
        end_odd_period(vcpu, used, now);
    else
        end_period(vcpu, used, false);
}
