/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "regulate.h"

#include "go_on.h"
#include "lend.h"
#include "statistics.h"

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

/* Charges what was used since the counter was armed. Under the lock, unlike reading the counter. */
static void charge(struct vcpu *vcpu, uint64_t used) {
    trace_count(vcpu, used);
    uint64_t of_share = vcpu->regulation.lending ? lend_use(vcpu, used) : used;
    if (vcpu->regulation.line)
        statistics_charge(vcpu, used, of_share);
    rf_reservation_charge(&vcpu->vm->reservation, vcpu->index, of_share);
}

/* What the vCPU has left, with nothing more to be done under the lock. */
static uint64_t remaining(struct vcpu *vcpu) {
    uint64_t left = 0;
    rf_reservation_remaining(&vcpu->vm->reservation, vcpu->index, &left);
    if (vcpu->regulation.lending)
        left += lend_more(vcpu, left);
    if (vcpu->regulation.line)
        statistics_publish(vcpu, left == 0);
    return left;
}

/* Counts down what the vCPU has left; throttles it if that is nothing. */
static void arm(struct vcpu *vcpu, uint64_t left) {
    if (vcpu->regulation.throttled != (left == 0))
        trace(vcpu, left ? TRACE_RESUME : TRACE_THROTTLE);
    vcpu->regulation.throttled = left == 0;
    if (left)
        arch_counter_arm(vcpu, countable(left));
    else
        arch_counter_off(vcpu);
}

/* Whole seconds and the rest apart, so that no product needs more than 64 bits. */
static struct ticks ticks_of(uint64_t ns) {
    uint64_t frequency = arch_frequency();
    uint64_t rest = ns % NS_PER_S * frequency;
    return (struct ticks){ns / NS_PER_S * frequency + rest / NS_PER_S, rest % NS_PER_S};
}

/* Makes the period that the clock is in the next one; its number. */
static uint64_t find_period(struct vcpu *vcpu) {
    struct regulation *regulation = &vcpu->regulation;
    struct rf_periods *periods = &vcpu->vm->periods;
    struct rf_period period;
    rf_periods_at(periods, arch_now_ns(), &period);
    struct ticks begin = ticks_of(period.begin_ns);
    regulation->next.tick = begin.ticks + (begin.rest != 0);
    regulation->next.ahead = begin.rest ? NS_PER_S - begin.rest : 0;
    regulation->length = ticks_of(periods->length_ns);
    regulation->expected = periods->next_length_ns ? 0 : regulation->length.ticks;
    bool is_plain = !regulation->lending && !regulation->line;
    __atomic_store_n(&regulation->alike, is_plain ? regulation->expected : 0, __ATOMIC_RELAXED);
    return period.number;
}

/* The number of the period that begins now. It is the next one, unless the timer came early or more
 * than a period late, or the length of periods changes. */
static uint64_t next_period(struct vcpu *vcpu, uint64_t now) {
    if (!is_next(&vcpu->regulation, now, vcpu->regulation.expected))
        return find_period(vcpu);
    return vcpu->vm->reservation.vcpu[vcpu->index].next_period;
}

/* Begins a period, if the vCPU has not begun it yet. */
static void begin_period(struct vcpu *vcpu, uint64_t number) {
    rf_reservation_refill(&vcpu->vm->reservation, vcpu->index, number);
    if (vcpu->regulation.lending)
        lend_begin(vcpu, number);
    expect_next(&vcpu->regulation);
}

void regulate_changes(struct vm *vm) {
    for (uint32_t v = 0; v < vm->config->vcpus; v++) {
        vm->vcpu[v].regulation.expected = 0;
        __atomic_store_n(&vm->vcpu[v].regulation.alike, 0, __ATOMIC_RELAXED);
    }
    arch_writes_done();
}

/* Begins the period that the clock is in; what the vCPU has left in it. */
static uint64_t begin(struct vcpu *vcpu) {
    uint64_t now = arch_now();
    lock(&vcpu->vm->lock);
    begin_period(vcpu, next_period(vcpu, now));
    uint64_t left = remaining(vcpu);
    unlock(&vcpu->vm->lock);
    await_next(&vcpu->regulation);
    return left;
}

static void count_down(struct vcpu *vcpu, uint64_t left) {
    arm(vcpu, left);
    arch_period_timer_on();
}

void regulate_start(struct vcpu *vcpu) {
    bool is_held = is_regulated(vcpu->vm);
    uint64_t left = is_held ? begin(vcpu) : 0;
    /* Not before: a period that began in between would have neither a refill nor a vCPU that is off. */
    trace(vcpu, TRACE_ON);
    if (is_held)
        count_down(vcpu, left);
}

void regulate_off(struct vcpu *vcpu) {
    if (vcpu->vm->config->lending.lends)
        count_down(vcpu, begin(vcpu));
}

void regulate_stop(struct vcpu *vcpu) {
    if (!is_regulated(vcpu->vm))
        return;
    arch_period_timer_off();
    uint32_t used = arch_counter_used(vcpu);
    lock(&vcpu->vm->lock);
    charge(vcpu, used);
    if (vcpu->regulation.line)
        statistics_publish(vcpu, false);
    unlock(&vcpu->vm->lock);
    arch_counter_off(vcpu);
    vcpu->regulation.throttled = false;
}

void regulate_retry(struct vcpu *vcpu) {
    if (!vcpu->regulation.lending || !vcpu->regulation.throttled)
        return;
    lock(&vcpu->vm->lock);
    uint64_t left = remaining(vcpu);
    unlock(&vcpu->vm->lock);
    arm(vcpu, left);
}

void regulate_overflow(struct vcpu *vcpu) {
    vcpu->regulation.overflows++;
    uint32_t used = arch_counter_used(vcpu);
    lock(&vcpu->vm->lock);
    charge(vcpu, used);
    uint64_t left = remaining(vcpu);
    unlock(&vcpu->vm->lock);
    arm(vcpu, left);
}

void regulate_period(struct vcpu *vcpu) {
    vcpu->regulation.refills++;
    uint32_t used = arch_counter_used(vcpu);
    uint64_t now = arch_now();
    lock(&vcpu->vm->lock);
    uint64_t number = next_period(vcpu, now);
    charge(vcpu, used);
    trace(vcpu, TRACE_REFILL);
    begin_period(vcpu, number);
    uint64_t left = remaining(vcpu);
    unlock(&vcpu->vm->lock);
    await_next(&vcpu->regulation);
    arm(vcpu, left);
}
