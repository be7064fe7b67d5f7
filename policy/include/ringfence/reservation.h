/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reservation: how many memory events one VM may cause in a period, split over its
 * vCPUs. The account of a vCPU is budget.h's.
 *
 * reservation_shares.h divides a number of events, and reservation_budget.h has the
 * budgets of a VM's periods and their changes; here is what a vCPU does with its share.
 *
 * Source: H-MBR (NG-RES 2025) 3: a VM has a budget and a period; its vCPUs get equal or
 * given parts of the budget; each core counts its own events, idles when its part is
 * used, and begins the next period by its own timer. Beyond it: rules 1, 3 and 5.
 *
 * Rules
 *  1. The shares of a VM's vCPUs add up to its budget, to the event, and none is an
 *     event or more away from its exact part. Shares are cut off the budget one after
 *     the other, each where the weights up to and including it end, rounded down.
 *  2. A vCPU that has used its share is throttled until it begins another period. A
 *     share of zero throttles at once, before any event.
 *  3. Use beyond the share is debt, paid first out of the shares of the next periods
 *     that the vCPU begins, as in budget.h. H-MBR forgives it.
 *  4. A vCPU begins each period once and never goes back. What it did not use of a
 *     period is gone, and periods that it skipped give it nothing.
 *  5. A change holds from the period that it names, which no vCPU has begun. So all
 *     vCPUs have shares of the same budget in the same period, though their cores
 *     begin it at different times.
 *
 * Changes: one at a time can wait for its period. Another for the same period or an
 * earlier one takes its place; for a later one it is refused, for two would be waiting.
 * A vCPU that is still in the periods before two changes has missed those periods, and
 * can only begin one from the earlier of the two changes on: no vCPU that lags, or is
 * off, holds up a change.
 *
 * The caller serialises all calls for one VM, but for rf_reservation_go_on; numbers
 * periods, all cores alike; stops a core at RF_RESERVATION_THROTTLE; and charges what a
 * core has used before it begins another period, so that the use falls into the right
 * one. A VM without a reservation needs no call at all. The length of periods is the
 * caller's matter.
 *
 * Most periods are like the one before, and most vCPUs have something left at their end.
 * For those rf_reservation_go_on does what charge, refill and remaining do together. It
 * reads and writes the one vCPU alone. So a core may call it for its own vCPU at any time
 * between the others' calls for theirs, and beside a change: that only looks whether
 * another period has begun, a later one than that which the core goes on into.
 *
 * Known gaps
 *  - What one vCPU leaves unused is not given to another of the same VM.
 *  - Cores begin a period at slightly different times: what is in force at an instant
 *    may be shares of two periods.
 *  - A vCPU with a share of zero never runs: one of weight zero, and one of those whose
 *    part is below an event. Check budgets when they are configured.
 *  - The gaps of a core's budget, see budget.h.
 *  - Calls at the same time are not in the proofs, nor in the explored states. That
 *    rf_reservation_go_on may run beside others is argued only, above. The others look at
 *    the vCPU's next_period while its core may write it: that has to be read and written
 *    in one piece, as aligned 64 bits are on Armv8-A and x86-64. C11, which promises that
 *    for atomics alone, has it as a data race.
 *
 * Proved for every state and input, of one call after the other: no run-time error; that
 * a refused call changes nothing; all five rules; and that init makes and every other
 * call keeps rf_reservation_sound: a vCPU's share is the one of the period that it is in,
 * and it owes nothing while it has some of its share left. All rules are compared with a
 * reference model in every state of small VMs and at random
 * (crates/ringfence-policy/tests/reservation/).
 */
#ifndef RINGFENCE_RESERVATION_H
#define RINGFENCE_RESERVATION_H

#include "reservation_budget.h"

/* Whether the VM has vCPU number `vcpu`. */
/*@
  requires \valid_read(vm) && vm->vcpus <= RF_RESERVATION_MAX_VCPUS;
  assigns \nothing;
  ensures \result <==> vcpu < vm->vcpus;
  ensures \result ==> vcpu < RF_RESERVATION_MAX_VCPUS;
*/
static inline bool rf_reservation_has(const struct rf_reservation *vm, uint32_t vcpu) {
    return vcpu < vm->vcpus;
}

/* RF_RESERVATION_THROTTLE if the vCPU has nothing left of its share. */
/*@
  requires \valid_read(vcpu) && vcpu->share < RF_BUDGET_UNLIMITED;
  assigns \nothing;
  ensures \result == RF_RESERVATION_OK || \result == RF_RESERVATION_THROTTLE;
  ensures \result == RF_RESERVATION_THROTTLE <==> vcpu->account.used >= vcpu->share;
*/
static inline enum rf_reservation_status
rf_reservation_verdict(const struct rf_reservation_vcpu *vcpu) {
    return rf_budget_left(&vcpu->account, vcpu->share) == 0 ? RF_RESERVATION_THROTTLE
                                                            : RF_RESERVATION_OK;
}

/* A vCPU begins `period` with `share`, less its debt. */
/*@
  requires \valid(vcpu) && share < RF_BUDGET_UNLIMITED && period < RF_RESERVATION_NEVER;
  assigns *vcpu;
  ensures vcpu->share == share && vcpu->next_period == period + 1;
  ensures rf_budget_refilled{Pre, Post}(&vcpu->account, share);
  ensures rf_reservation_accounted(vcpu);
*/
static inline void rf_reservation_begin(struct rf_reservation_vcpu *vcpu, uint64_t share,
                                        uint64_t period) {
    vcpu->next_period = period + 1;
    vcpu->share = share;
    vcpu->account.used = 0;
    rf_budget_pay(&vcpu->account, share);
}

/*
 * A vCPU begins `period`: it has its share of the VM's budget in that period, less its
 * debt. RF_RESERVATION_THROTTLE if that leaves nothing.
 */
/*@
  requires \valid(vm) && rf_reservation_sound(vm);
  behavior bad_vcpu:
    assumes vcpu >= vm->vcpus;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_VCPU;
  behavior bad_period:
    assumes vcpu < vm->vcpus;
    assumes period < vm->vcpu[vcpu].next_period || period < vm->first_period ||
            period == RF_RESERVATION_NEVER;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_PERIOD;
  behavior refilled:
    assumes vcpu < vm->vcpus;
    assumes vm->vcpu[vcpu].next_period <= period && vm->first_period <= period <
            RF_RESERVATION_NEVER;
    assigns vm->vcpu[vcpu];
    ensures rf_reservation_sound(vm);
    ensures vm->vcpu[vcpu].share == rf_reservation_share_of(vm, vcpu, period);
    ensures rf_budget_refilled{Pre, Post}(&vm->vcpu[vcpu].account, vm->vcpu[vcpu].share);
    ensures vm->vcpu[vcpu].next_period == period + 1;
    ensures \result == RF_RESERVATION_OK || \result == RF_RESERVATION_THROTTLE;
    ensures \result == RF_RESERVATION_THROTTLE <==>
        vm->vcpu[vcpu].account.used >= vm->vcpu[vcpu].share;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_reservation_status rf_reservation_refill(struct rf_reservation *vm,
                                                               uint32_t vcpu, uint64_t period) {
    if (!rf_reservation_has(vm, vcpu))
        return RF_RESERVATION_BAD_VCPU;
    struct rf_reservation_vcpu *v = &vm->vcpu[vcpu];
    if (period < v->next_period || period < vm->first_period || period == RF_RESERVATION_NEVER)
        return RF_RESERVATION_BAD_PERIOD;
    rf_reservation_begin(
        v, period < vm->change_period ? vm->share_before[vcpu] : vm->share_after[vcpu], period);
    /*@ assert others: rf_reservation_others_kept{Pre, Here}(vm, vcpu); */
    /*@ assert rf_reservation_before_kept{Pre, Here}(vm); */
    /*@ assert rf_reservation_after_kept{Pre, Here}(vm); */
    /*@ assert rf_reservation_limited(vm); */
    /*@ assert v->share == rf_reservation_share_of(vm, vcpu, period); */
    /*@ assert rf_reservation_in_order(vm); */
    /*@ assert rf_reservation_begun(vm, vcpu); */
    /*@ assert rf_reservation_in_force(vm); */
    /*@ assert rf_reservation_all_accounted(vm); */
    return rf_reservation_verdict(v);
}

/*
 * Counts what a vCPU's core has used since the last call. RF_RESERVATION_THROTTLE while
 * nothing is left of the vCPU's share, by this charge or before it.
 */
/*@
  requires \valid(vm) && rf_reservation_sound(vm);
  behavior bad_vcpu:
    assumes vcpu >= vm->vcpus;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_VCPU;
  behavior charged:
    assumes vcpu < vm->vcpus;
    assigns vm->vcpu[vcpu].account;
    ensures rf_reservation_sound(vm);
    ensures rf_budget_charged{Pre, Post}(&vm->vcpu[vcpu].account, events,
                                         vm->vcpu[vcpu].share);
    ensures \result == RF_RESERVATION_OK || \result == RF_RESERVATION_THROTTLE;
    ensures \result == RF_RESERVATION_THROTTLE <==>
        vm->vcpu[vcpu].account.used >= vm->vcpu[vcpu].share;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_reservation_status rf_reservation_charge(struct rf_reservation *vm,
                                                               uint32_t vcpu, uint64_t events) {
    if (!rf_reservation_has(vm, vcpu))
        return RF_RESERVATION_BAD_VCPU;
    struct rf_reservation_vcpu *v = &vm->vcpu[vcpu];
    rf_budget_owe(&v->account, events, v->share);
    /*@ assert others: rf_reservation_others_kept{Pre, Here}(vm, vcpu); */
    /*@ assert rf_reservation_before_kept{Pre, Here}(vm); */
    /*@ assert rf_reservation_after_kept{Pre, Here}(vm); */
    /*@ assert rf_reservation_limited(vm); */
    /*@ assert rf_reservation_in_order(vm) && rf_reservation_in_force(vm); */
    /*@ assert rf_reservation_all_accounted(vm); */
    return rf_reservation_verdict(v);
}

/* What a vCPU may still use in the period that it is in, for arming its core's counter. */
/*@
  requires \valid_read(vm) && rf_reservation_sound(vm);
  requires \valid(events) && \separated(vm, events);
  behavior bad_vcpu:
    assumes vcpu >= vm->vcpus;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_VCPU;
  behavior left:
    assumes vcpu < vm->vcpus;
    assigns *events;
    ensures \result == RF_RESERVATION_OK;
    ensures *events == vm->vcpu[vcpu].share - vm->vcpu[vcpu].account.used;
    ensures owes_nothing: *events > 0 ==> vm->vcpu[vcpu].account.debt == 0;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_reservation_status rf_reservation_remaining(const struct rf_reservation *vm,
                                                                  uint32_t vcpu, uint64_t *events) {
    if (!rf_reservation_has(vm, vcpu))
        return RF_RESERVATION_BAD_VCPU;
    *events = rf_budget_left(&vm->vcpu[vcpu].account, vm->vcpu[vcpu].share);
    return RF_RESERVATION_OK;
}

/*
 * A vCPU that has something left goes on into the period behind the one that it is in,
 * which exists and has the same share: no change that waits is for it. The same as to
 * charge what it has used, to refill it, and to ask what remains, which is the result. 0
 * if it has used all that it had left, or more, and must take that longer way; then
 * nothing has changed.
 */
/*@
  requires \valid(vm) && rf_reservation_sound(vm) && vcpu < vm->vcpus;
  requires vm->first_period <= vm->vcpu[vcpu].next_period < RF_RESERVATION_NEVER;
  requires rf_reservation_share_of(vm, vcpu, vm->vcpu[vcpu].next_period) ==
           vm->vcpu[vcpu].share;
  behavior used_up:
    assumes vm->vcpu[vcpu].account.used + events >= vm->vcpu[vcpu].share;
    assigns \nothing;
    ensures \result == 0;
  behavior gone_on:
    assumes vm->vcpu[vcpu].account.used + events < vm->vcpu[vcpu].share;
    assigns vm->vcpu[vcpu].account.used, vm->vcpu[vcpu].next_period;
    ensures rf_reservation_sound(vm);
    ensures charge_owes_nothing: \old(vm->vcpu[vcpu].account.debt) == 0;
    ensures refilled: rf_budget_refilled{Pre, Post}(&vm->vcpu[vcpu].account,
                                                    vm->vcpu[vcpu].share);
    ensures vm->vcpu[vcpu].next_period == \old(vm->vcpu[vcpu].next_period) + 1;
    ensures vm->vcpu[vcpu].share ==
        \old(rf_reservation_share_of(vm, vcpu, vm->vcpu[vcpu].next_period));
    ensures remaining: \result == vm->vcpu[vcpu].share - vm->vcpu[vcpu].account.used;
    ensures \result > 0;
  complete behaviors;
  disjoint behaviors;
*/
static inline uint64_t rf_reservation_go_on(struct rf_reservation *vm, uint32_t vcpu,
                                            uint64_t events) {
    struct rf_reservation_vcpu *v = &vm->vcpu[vcpu];
    /*@ assert v->account.used <= v->share; */
    if (events >= v->share - v->account.used)
        return 0;
    /*@ assert v->account.debt == 0; */
    v->account.used = 0;
    v->next_period++;
    /*@ assert others: rf_reservation_others_kept{Pre, Here}(vm, vcpu); */
    /*@ assert rf_reservation_before_kept{Pre, Here}(vm); */
    /*@ assert rf_reservation_after_kept{Pre, Here}(vm); */
    /*@ assert rf_reservation_limited(vm); */
    /*@ assert rf_reservation_in_order(vm); */
    /*@ assert rf_reservation_begun(vm, vcpu); */
    /*@ assert rf_reservation_in_force(vm); */
    /*@ assert rf_reservation_all_accounted(vm); */
    return v->share;
}

#endif
