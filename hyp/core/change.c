/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "change.h"

#include "arch.h"
#include "hypercall.h"
#include "platform.h"
#include "regulate.h"
#include "trace.h"

/* Taken before the lock of a VM; no VM needs it for its periods. */
static struct lock total_lock;
/* Events a second of each VM, by number, before and after its latest change. */
static struct {
    uint64_t before;
    uint64_t after;
    uint64_t change_ns;
} bandwidths[MAX_CORES];

void change_init(const struct vm *vm) {
    const struct reservation_config *reservation = &vm->config->reservation;
    if (is_regulated(vm))
        bandwidths[vm->number].after =
            rf_periods_bandwidth(reservation->budget, reservation->period_ns);
}

static bool is_within(const struct reservation_bounds *bounds, uint64_t budget,
                      uint64_t period_ns) {
    return bounds->period_max_ns && bounds->budget_min <= budget && budget <= bounds->budget_max &&
           bounds->period_min_ns <= period_ns && period_ns <= bounds->period_max_ns;
}

/* What a VM has now or will have, whichever is more. */
static uint64_t bandwidth_of(uint32_t number, uint64_t now_ns) {
    uint64_t before = bandwidths[number].before, after = bandwidths[number].after;
    return now_ns < bandwidths[number].change_ns && before > after ? before : after;
}

static bool is_above_total(const struct vm *vm, uint64_t bandwidth, uint64_t now_ns) {
    for (uint32_t n = 0; n < machine_config.vms; n++)
        if (n != vm->number)
            bandwidth = rf_periods_together(bandwidth, bandwidth_of(n, now_ns));
    return bandwidth > machine_config.events_per_s;
}

/* Budget and length from the same period on, or neither. */
static uint64_t change_at_next_period(struct vcpu *caller, struct vm *vm, uint64_t budget,
                                      uint64_t period_ns, uint64_t *from_ns) {
    uint64_t result = HYPERCALL_PENDING;
    struct rf_period from;
    lock(&vm->lock);
    regulate_changes(vm);
    uint64_t now_ns = arch_now_ns();
    struct rf_periods periods = vm->periods;
    if (rf_periods_change(&periods, now_ns, period_ns, &from) == RF_PERIODS_OK &&
        rf_reservation_change(&vm->reservation, from.number, budget) == RF_RESERVATION_OK) {
        vm->periods = periods;
        *from_ns = from.begin_ns;
        trace_change(caller, now_ns, vm, budget, period_ns, from.begin_ns);
        result = HYPERCALL_DONE;
    }
    unlock(&vm->lock);
    return result;
}

uint64_t change(struct vcpu *caller, uint64_t number, uint64_t budget, uint64_t period_ns,
                uint64_t *from_ns) {
    struct vm *vm = vm_of_number(number);
    if (!vm || vm_is_stopped(vm))
        return HYPERCALL_NO_VM;
    if (!(caller->vm->config->may_change >> number & 1))
        return HYPERCALL_DENIED;
    if (!is_within(&vm->config->reservation.bounds, budget, period_ns))
        return HYPERCALL_OUT_OF_BOUNDS;
    uint64_t bandwidth = rf_periods_bandwidth(budget, period_ns);
    lock(&total_lock);
    uint64_t now_ns = arch_now_ns();
    uint64_t result = HYPERCALL_ABOVE_TOTAL;
    if (!is_above_total(vm, bandwidth, now_ns))
        result = change_at_next_period(caller, vm, budget, period_ns, from_ns);
    if (result == HYPERCALL_DONE) {
        bandwidths[number].before = bandwidths[number].after;
        bandwidths[number].after = bandwidth;
        bandwidths[number].change_ns = *from_ns;
    }
    unlock(&total_lock);
    return result;
}
