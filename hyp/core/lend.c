/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "lend.h"

#include "arch.h"
#include "platform.h"
#include "statistics.h"
#include "trace.h"

/* Taken behind the lock of a VM. */
static struct lock pool_lock;
static struct rf_lending_pool pool;
/* Cores that found the pool empty and stand still: bit n is for core n. */
static uint32_t waiting;
static struct lending_state states[MAX_CORES];

void lend_init(struct vm *vm) {
    const struct lending_config *config = &vm->config->lending;
    for (uint32_t v = 0; v < vm->config->vcpus && (config->lends || config->borrows); v++) {
        struct lending_state *state = &states[vm->vcpu[v].core];
        state->lends = config->lends;
        state->borrows = config->borrows;
        rf_lending_init_vcpu(&state->vcpu);
        vm->vcpu[v].regulation.lending = state;
    }
}

static uint64_t left_of(const struct vcpu *vcpu) {
    uint64_t left = 0;
    rf_reservation_remaining(&vcpu->vm->reservation, vcpu->index, &left);
    return left;
}

void lend_begin(struct vcpu *vcpu, uint64_t period) {
    struct lending_state *state = vcpu->regulation.lending;
    lock(&pool_lock);
    uint64_t given = rf_lending_begin(&pool, &state->vcpu, period, left_of(vcpu), state->lends);
    uint32_t woken = given ? waiting : 0;
    waiting &= ~woken;
    unlock(&pool_lock);
    for (; woken; woken &= woken - 1)
        arch_kick((uint32_t)__builtin_ctz(woken));
    rf_reservation_charge(&vcpu->vm->reservation, vcpu->index, given);
    if (given)
        trace_loan(vcpu, TRACE_LEND, given, period);
    if (vcpu->regulation.line)
        statistics_lend(vcpu, given);
}

uint64_t lend_use(struct vcpu *vcpu, uint64_t events) {
    return rf_lending_use(&vcpu->regulation.lending->vcpu, events, left_of(vcpu));
}

uint64_t lend_more(struct vcpu *vcpu, uint64_t left) {
    struct lending_state *state = vcpu->regulation.lending;
    if (left == 0 && state->borrows && !state->vcpu.borrowed) {
        lock(&pool_lock);
        uint64_t borrowed = rf_lending_borrow(&pool, &state->vcpu, state->borrows);
        if (borrowed == 0)
            waiting |= 1U << vcpu->core;
        unlock(&pool_lock);
        if (borrowed)
            trace_loan(vcpu, TRACE_BORROW, borrowed, state->vcpu.next_period - 1);
    }
    return state->vcpu.borrowed;
}
