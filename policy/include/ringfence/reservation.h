/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reservation: how many memory events one VM may cause in a period, split over its
 * vCPUs. The account of a vCPU is budget.h's.
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
 *
 * Proved for every state and input: no run-time error; that a refused call changes
 * nothing; all five rules; and that init makes and every other call keeps
 * rf_reservation_sound, below: a vCPU's share is the one of the period that it is in, and
 * it owes nothing while it has some of its share left. All rules are compared with a
 * reference model in every state of small VMs and at random
 * (crates/ringfence-policy/tests/reservation/).
 */
#ifndef RINGFENCE_RESERVATION_H
#define RINGFENCE_RESERVATION_H

#include "budget.h"

#define RF_RESERVATION_MAX_VCPUS 8U
#define RF_RESERVATION_MAX_WEIGHTS 0xffffffffU

/* A period that never begins. */
#define RF_RESERVATION_NEVER 0xffffffffffffffffU

enum rf_reservation_status {
    RF_RESERVATION_OK = 0,
    /* The vCPU has nothing left of its share: stop its core until it begins a period. */
    RF_RESERVATION_THROTTLE,
    /* Errors; the state is as before. */
    RF_RESERVATION_BAD_VCPU,    /* not one of the VM's; for init: not 1 to 8 vCPUs */
    RF_RESERVATION_BAD_BUDGET,  /* 2^64 - 1, which budget.h takes for "unlimited" */
    RF_RESERVATION_BAD_WEIGHTS, /* add up to 0, or to more than 2^32 - 1 */
    RF_RESERVATION_BAD_PERIOD,  /* begun already, missed, or 2^64 - 1 */
    RF_RESERVATION_PENDING,     /* a change for an earlier period still waits */
};

/* Shares are in events a period. */
struct rf_reservation_vcpu {
    struct rf_budget_account account; /* of `share` */
    uint64_t share;                   /* of the period that it is in; 0 before its first */
    uint64_t next_period;             /* the earliest that it can begin */
};

struct rf_reservation {
    uint64_t budget_before; /* of the VM, in events, in first_period up to change_period */
    uint64_t budget_after;  /* in change_period and later */
    uint64_t first_period;  /* the earliest whose budget is known */
    uint64_t change_period;
    uint64_t share_before[RF_RESERVATION_MAX_VCPUS];
    uint64_t share_after[RF_RESERVATION_MAX_VCPUS];
    uint32_t weight[RF_RESERVATION_MAX_VCPUS]; /* 0 where there is no vCPU */
    uint32_t weights;                          /* of all vCPUs together */
    uint32_t vcpus;
    struct rf_reservation_vcpu vcpu[RF_RESERVATION_MAX_VCPUS];
};

/*@
  // Of the eight numbers, those before the n-th, added up.
  logic integer rf_reservation_sum(integer n, integer a, integer b, integer c, integer d,
                                   integer e, integer f, integer g, integer h) =
      (n > 0 ? a : 0) + (n > 1 ? b : 0) + (n > 2 ? c : 0) + (n > 3 ? d : 0) +
      (n > 4 ? e : 0) + (n > 5 ? f : 0) + (n > 6 ? g : 0) + (n > 7 ? h : 0);

  logic integer rf_reservation_weights{L}(struct rf_reservation *vm, integer n) =
      rf_reservation_sum(n, vm->weight[0], vm->weight[1], vm->weight[2],
                         vm->weight[3], vm->weight[4], vm->weight[5],
                         vm->weight[6], vm->weight[7]);

  logic integer rf_reservation_shares_before{L}(struct rf_reservation *vm, integer n) =
      rf_reservation_sum(n, vm->share_before[0], vm->share_before[1],
                         vm->share_before[2], vm->share_before[3],
                         vm->share_before[4], vm->share_before[5],
                         vm->share_before[6], vm->share_before[7]);

  logic integer rf_reservation_shares_after{L}(struct rf_reservation *vm, integer n) =
      rf_reservation_sum(n, vm->share_after[0], vm->share_after[1],
                         vm->share_after[2], vm->share_after[3],
                         vm->share_after[4], vm->share_after[5],
                         vm->share_after[6], vm->share_after[7]);

  // Budget and share of a period, if it is not before first_period.
  logic integer rf_reservation_budget_of{L}(struct rf_reservation *vm, integer period) =
      period < vm->change_period ? vm->budget_before : vm->budget_after;
  logic integer rf_reservation_share_of{L}(struct rf_reservation *vm, integer v,
                                           integer period) =
      period < vm->change_period ? vm->share_before[v] : vm->share_after[v];

  // floor(budget * part / whole)
  predicate rf_reservation_is_cut(integer cut, integer budget, integer part, integer whole) =
      cut * whole <= budget * part < (cut + 1) * whole;

  // Less than an event away from the exact part, budget * weight / whole.
  predicate rf_reservation_is_fair(integer share, integer budget, integer weight,
                                   integer whole) =
      (share - 1) * whole < budget * weight < (share + 1) * whole;

  predicate rf_reservation_weighed{L}(struct rf_reservation *vm) =
      vm->weights > 0 && rf_reservation_weights(vm, RF_RESERVATION_MAX_VCPUS) == vm->weights;

  predicate rf_reservation_adds_up_before{L}(struct rf_reservation *vm) =
      rf_reservation_shares_before(vm, RF_RESERVATION_MAX_VCPUS) == vm->budget_before;
  predicate rf_reservation_adds_up_after{L}(struct rf_reservation *vm) =
      rf_reservation_shares_after(vm, RF_RESERVATION_MAX_VCPUS) == vm->budget_after;

  // The shares of each budget add up to it. Only init and change write what this is about.
  predicate rf_reservation_adds_up{L}(struct rf_reservation *vm) =
      rf_reservation_weighed(vm) && rf_reservation_adds_up_before(vm) &&
      rf_reservation_adds_up_after(vm);

  predicate rf_reservation_limited{L}(struct rf_reservation *vm) =
      1 <= vm->vcpus <= RF_RESERVATION_MAX_VCPUS &&
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          vm->share_before[v] < RF_BUDGET_UNLIMITED &&
          vm->share_after[v] < RF_BUDGET_UNLIMITED;

  // A vCPU has begun this period or a later one.
  predicate rf_reservation_has_begun{L}(struct rf_reservation *vm, integer period) =
      vm->vcpu[0].next_period > period || vm->vcpu[1].next_period > period ||
      vm->vcpu[2].next_period > period || vm->vcpu[3].next_period > period ||
      vm->vcpu[4].next_period > period || vm->vcpu[5].next_period > period ||
      vm->vcpu[6].next_period > period || vm->vcpu[7].next_period > period;

  // Only of periods before one that has begun is the budget not known any more.
  predicate rf_reservation_in_order{L}(struct rf_reservation *vm) =
      vm->first_period <= vm->change_period &&
      (vm->first_period > 0 ==> rf_reservation_has_begun(vm, vm->first_period));

  // The share of a vCPU is that of the period that it is in, next_period - 1.
  predicate rf_reservation_begun{L}(struct rf_reservation *vm, integer v) =
      (vm->vcpu[v].next_period == 0 ==> vm->vcpu[v].share == 0) &&
      (vm->first_period < vm->vcpu[v].next_period <= vm->change_period ==>
          vm->vcpu[v].share == vm->share_before[v]) &&
      (vm->vcpu[v].next_period > vm->first_period && vm->vcpu[v].next_period > vm->change_period ==>
          vm->vcpu[v].share == vm->share_after[v]);

  predicate rf_reservation_in_force{L}(struct rf_reservation *vm) =
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          rf_reservation_begun(vm, v);

  predicate rf_reservation_accounted{L}(struct rf_reservation_vcpu *vcpu) =
      vcpu->account.used <= vcpu->share < RF_BUDGET_UNLIMITED &&
      rf_budget_settled(&vcpu->account, vcpu->share);

  predicate rf_reservation_all_accounted{L}(struct rf_reservation *vm) =
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          rf_reservation_accounted(&vm->vcpu[v]);

  predicate rf_reservation_before_kept{From, To}(struct rf_reservation *vm) =
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          \at(vm->share_before[v], To) == \at(vm->share_before[v], From);
  predicate rf_reservation_after_kept{From, To}(struct rf_reservation *vm) =
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          \at(vm->share_after[v], To) == \at(vm->share_after[v], From);
  // What the calls for one vCPU write of it.
  predicate rf_reservation_others_kept{From, To}(struct rf_reservation *vm, integer vcpu) =
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS && v != vcpu ==>
          \at(vm->vcpu[v].account.used, To) == \at(vm->vcpu[v].account.used, From) &&
          \at(vm->vcpu[v].account.debt, To) == \at(vm->vcpu[v].account.debt, From) &&
          \at(vm->vcpu[v].share, To) == \at(vm->vcpu[v].share, From) &&
          \at(vm->vcpu[v].next_period, To) == \at(vm->vcpu[v].next_period, From);

  // The shares of both budgets are the same.
  predicate rf_reservation_settled{L}(struct rf_reservation *vm) =
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          vm->share_before[v] == vm->share_after[v];

  // Holds from init on, whatever is called in whatever order.
  predicate rf_reservation_sound{L}(struct rf_reservation *vm) =
      rf_reservation_limited(vm) && rf_reservation_in_order(vm) &&
      rf_reservation_in_force(vm) && rf_reservation_all_accounted(vm);

  // The weight that init gives the v-th vCPU.
  logic integer rf_reservation_given{L}(uint32_t *weights, integer vcpus, integer v) =
      v < vcpus ? (weights == \null ? 1 : weights[v]) : 0;

  logic integer rf_reservation_all_given{L}(uint32_t *weights, integer vcpus, integer n) =
      rf_reservation_sum(n, rf_reservation_given(weights, vcpus, 0),
                         rf_reservation_given(weights, vcpus, 1),
                         rf_reservation_given(weights, vcpus, 2),
                         rf_reservation_given(weights, vcpus, 3),
                         rf_reservation_given(weights, vcpus, 4),
                         rf_reservation_given(weights, vcpus, 5),
                         rf_reservation_given(weights, vcpus, 6),
                         rf_reservation_given(weights, vcpus, 7));

  predicate rf_reservation_weighted{L}(struct rf_reservation *vm, uint32_t *weights,
                                       integer vcpus) =
      \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          vm->weight[v] == rf_reservation_given(weights, vcpus, v);

  // Said of cuts and not of products, which Z3 would find everywhere.
  lemma rf_reservation_cut_within:
      \forall integer cut, budget, part, whole;
          rf_reservation_is_cut(cut, budget, part, whole) ==>
              whole > 0 && budget >= 0 && part <= whole ==> cut <= budget;

  lemma rf_reservation_cuts_in_order:
      \forall integer below, upto, budget, from, to, whole;
          rf_reservation_is_cut(below, budget, from, whole) &&
          rf_reservation_is_cut(upto, budget, to, whole) ==>
              whole > 0 && budget >= 0 && from <= to ==> below <= upto;

  lemma rf_reservation_cuts_apart:
      \forall integer below, upto, budget, from, to, whole;
          rf_reservation_is_cut(below, budget, from, whole) &&
          rf_reservation_is_cut(upto, budget, to, whole) ==>
              whole > 0 ==> rf_reservation_is_fair(upto - below, budget, to - from, whole);

  lemma rf_reservation_last_cut:
      \forall integer cut, budget, whole;
          rf_reservation_is_cut(cut, budget, whole, whole) ==> whole > 0 ==> cut == budget;
*/

/* floor(rest * part / whole) */
/*@
  requires rest < whole && part <= whole;
  assigns \nothing;
  ensures rf_reservation_is_cut(\result, rest, part, whole);
  ensures \result <= rest;
*/
static inline uint64_t rf_reservation_cut_rest(uint32_t rest, uint32_t part, uint32_t whole) {
    uint64_t product = (uint64_t)rest * part;
    /*@ assert 0 <= (integer)rest * part <= RF_RESERVATION_MAX_WEIGHTS * RF_RESERVATION_MAX_WEIGHTS; */
    /*@ assert product == (integer)rest * part; */
    uint64_t cut = product / whole;
    /*@ assert cut * whole <= product < (cut + 1) * whole; */
    /*@ assert rf_reservation_is_cut(cut, rest, part, whole); */
    return cut;
}

/*
 * floor(budget * part / whole). Whole multiples of `whole` and the rest are scaled
 * apart, so that no product needs more than 64 bits.
 */
/*@
  requires part <= whole && whole > 0;
  assigns \nothing;
  ensures rf_reservation_is_cut(\result, budget, part, whole);
  ensures \result <= budget;
*/
static inline uint64_t rf_reservation_cut(uint64_t budget, uint32_t part, uint32_t whole) {
    uint64_t multiples = budget / whole;
    uint32_t rest = (uint32_t)(budget % whole);
    /*@ assert budget == multiples * whole + rest; */
    /*@ assert budget * part == (multiples * part) * whole + rest * part; */
    /*@ assert 0 <= (integer)multiples * part <= multiples * whole; */
    uint64_t of_rest = rf_reservation_cut_rest(rest, part, whole);
    /*@ assert of_rest * whole <= (integer)rest * part < of_rest * whole + whole; */
    uint64_t cut = multiples * part + of_rest;
    /*@ assert cut == (integer)multiples * part + of_rest <= budget; */
    /*@ assert cut * whole == (multiples * part) * whole + of_rest * whole; */
    /*@ assert cut * whole <= budget * part < cut * whole + whole; */
    return cut;
}

/*
 * From change_period on the VM has this budget. Before that, and for the vCPUs that are
 * in a period, all is as it was.
 */
/*@
  requires \valid(vm) && budget < RF_BUDGET_UNLIMITED && rf_reservation_weighed(vm);
  assigns vm->budget_after, vm->share_after[0 .. RF_RESERVATION_MAX_VCPUS - 1];
  ensures vm->budget_after == budget;
  ensures rf_reservation_adds_up_after(vm);
  ensures \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
      vm->share_after[v] < RF_BUDGET_UNLIMITED;
*/
static inline void rf_reservation_divide(struct rf_reservation *vm, uint64_t budget) {
    uint32_t part = 0;
    uint64_t given = 0;
    /*@
      loop invariant 0 <= v <= RF_RESERVATION_MAX_VCPUS;
      loop invariant part == rf_reservation_weights(vm, v) <= vm->weights;
      loop invariant given == rf_reservation_shares_after(vm, v) <= budget;
      loop invariant rf_reservation_is_cut(given, budget, part, vm->weights);
      loop assigns v, part, given, vm->share_after[0 .. RF_RESERVATION_MAX_VCPUS - 1];
      loop variant RF_RESERVATION_MAX_VCPUS - v;
    */
    for (uint32_t v = 0; v < RF_RESERVATION_MAX_VCPUS; v++) {
        /*@ assert part + vm->weight[v] == rf_reservation_weights(vm, v + 1); */
        /*@ assert rf_reservation_weights(vm, v + 1) <= vm->weights; */
        part += vm->weight[v];
        uint64_t end = rf_reservation_cut(budget, part, vm->weights);
        /*@ assert given <= end; */
        /*@ assert fair: rf_reservation_is_fair(end - given, budget, vm->weight[v],
              vm->weights); */
        vm->share_after[v] = end - given;
        given = end;
    }
    /*@ assert given == budget; */
    /*@ assert vm->share_after[0] <= budget && vm->share_after[1] <= budget &&
          vm->share_after[2] <= budget && vm->share_after[3] <= budget &&
          vm->share_after[4] <= budget && vm->share_after[5] <= budget &&
          vm->share_after[6] <= budget && vm->share_after[7] <= budget; */
    vm->budget_after = budget;
}

/* Whether a vCPU has begun this period or a later one. */
/*@
  requires \valid_read(vm);
  assigns \nothing;
  ensures \result <==> rf_reservation_has_begun(vm, period);
*/
static inline bool rf_reservation_is_begun(const struct rf_reservation *vm, uint64_t period) {
    bool is_begun = false;
    /*@
      loop invariant 0 <= v <= RF_RESERVATION_MAX_VCPUS;
      loop invariant is_begun <==> \exists integer w; 0 <= w < v &&
          vm->vcpu[w].next_period > period;
      loop assigns v, is_begun;
      loop variant RF_RESERVATION_MAX_VCPUS - v;
    */
    for (uint32_t v = 0; v < RF_RESERVATION_MAX_VCPUS; v++)
        if (vm->vcpu[v].next_period > period)
            is_begun = true;
    return is_begun;
}

/*
 * From `period` on, which no vCPU has begun, the VM has this budget. The one that it takes
 * the place of, from change_period on, no vCPU has begun either, or it is settled.
 */
/*@
  requires \valid(vm) && rf_reservation_sound(vm) && rf_reservation_adds_up(vm);
  requires budget < RF_BUDGET_UNLIMITED && !rf_reservation_has_begun(vm, period);
  requires !rf_reservation_has_begun(vm, vm->change_period) || rf_reservation_settled(vm);
  assigns vm->change_period, vm->budget_after,
      vm->share_after[0 .. RF_RESERVATION_MAX_VCPUS - 1];
  ensures vm->change_period == period && vm->budget_after == budget;
  ensures rf_reservation_sound(vm);
  ensures rf_reservation_adds_up(vm);
*/
static inline void rf_reservation_set(struct rf_reservation *vm, uint64_t period, uint64_t budget) {
    /*@ assert none: \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          vm->vcpu[v].next_period <= period; */
    /*@ assert nor_before: rf_reservation_settled(vm) ||
          \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
              vm->vcpu[v].next_period <= vm->change_period; */
    vm->change_period = period;
    rf_reservation_divide(vm, budget);
    /*@ assert others: rf_reservation_others_kept{Pre, Here}(vm, RF_RESERVATION_MAX_VCPUS); */
    /*@ assert before: rf_reservation_before_kept{Pre, Here}(vm); */
    /*@ assert limited: rf_reservation_limited(vm); */
    /*@ assert in_order: rf_reservation_in_order(vm); */
    /*@ assert begun: \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          \at(rf_reservation_begun(vm, v), Pre) ==> rf_reservation_begun(vm, v); */
    /*@ assert in_force: rf_reservation_in_force(vm); */
    /*@ assert accounted: rf_reservation_all_accounted(vm); */
}

/*
 * A VM of 1 to 8 vCPUs with `budget` events in each period, from period 0 on, of which
 * each vCPU has the part that its weight has of all `weights`, or an equal part if
 * `weights` is null. No vCPU is in a period, so that all are throttled.
 */
/*@
  requires \valid(vm);
  requires weights == \null || vcpus > RF_RESERVATION_MAX_VCPUS ||
           (\valid_read(weights + (0 .. vcpus - 1)) &&
            \separated(vm, weights + (0 .. vcpus - 1)));
  assigns *vm;
  behavior bad_vcpus:
    assumes vcpus == 0 || vcpus > RF_RESERVATION_MAX_VCPUS;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_VCPU;
  behavior bad_budget:
    assumes 1 <= vcpus <= RF_RESERVATION_MAX_VCPUS && budget == RF_BUDGET_UNLIMITED;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_BUDGET;
  behavior bad_weights:
    assumes 1 <= vcpus <= RF_RESERVATION_MAX_VCPUS && budget < RF_BUDGET_UNLIMITED;
    assumes !(1 <= rf_reservation_all_given(weights, vcpus, RF_RESERVATION_MAX_VCPUS) <=
              RF_RESERVATION_MAX_WEIGHTS);
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_WEIGHTS;
  behavior reserved:
    assumes 1 <= vcpus <= RF_RESERVATION_MAX_VCPUS && budget < RF_BUDGET_UNLIMITED;
    assumes 1 <= rf_reservation_all_given(weights, vcpus, RF_RESERVATION_MAX_VCPUS) <=
            RF_RESERVATION_MAX_WEIGHTS;
    ensures \result == RF_RESERVATION_OK;
    ensures rf_reservation_sound(vm);
    ensures rf_reservation_adds_up(vm);
    ensures vm->vcpus == vcpus;
    ensures rf_reservation_weighted{Post}(vm, weights, vcpus);
    ensures \forall integer p; 0 <= p ==> rf_reservation_budget_of(vm, p) == budget;
    ensures \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
        vm->vcpu[v].account.debt == 0 && vm->vcpu[v].next_period == 0;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_reservation_status rf_reservation_init(struct rf_reservation *vm,
                                                             uint64_t budget,
                                                             const uint32_t *weights,
                                                             uint32_t vcpus) {
    if (vcpus == 0 || vcpus > RF_RESERVATION_MAX_VCPUS)
        return RF_RESERVATION_BAD_VCPU;
    if (budget == RF_BUDGET_UNLIMITED)
        return RF_RESERVATION_BAD_BUDGET;
    uint64_t all = 0;
    /*@
      loop invariant 0 <= v <= vcpus;
      loop invariant all == rf_reservation_all_given{Pre}(weights, vcpus, v);
      loop invariant all <= v * RF_RESERVATION_MAX_WEIGHTS;
      loop assigns v, all;
      loop variant vcpus - v;
    */
    for (uint32_t v = 0; v < vcpus; v++)
        all += weights ? weights[v] : 1;
    /*@ assert all == rf_reservation_all_given{Pre}(weights, vcpus, RF_RESERVATION_MAX_VCPUS); */
    if (all == 0 || all > RF_RESERVATION_MAX_WEIGHTS)
        return RF_RESERVATION_BAD_WEIGHTS;
    vm->budget_before = 0;
    vm->first_period = 0;
    vm->change_period = 0;
    vm->vcpus = vcpus;
    vm->weights = (uint32_t)all;
    /*@
      loop invariant 0 <= v <= RF_RESERVATION_MAX_VCPUS;
      loop invariant \forall integer w; 0 <= w < v ==>
          vm->weight[w] == rf_reservation_given{Pre}(weights, vcpus, w);
      loop invariant \forall integer w; 0 <= w < v ==> vm->vcpu[w].account.used == 0;
      loop invariant \forall integer w; 0 <= w < v ==> vm->vcpu[w].account.debt == 0;
      loop invariant \forall integer w; 0 <= w < v ==> vm->vcpu[w].share == 0;
      loop invariant \forall integer w; 0 <= w < v ==> vm->vcpu[w].next_period == 0;
      loop invariant \forall integer w; 0 <= w < v ==> vm->share_before[w] == 0;
      loop invariant \forall integer w; 0 <= w < v ==> vm->share_after[w] == 0;
      loop assigns v, vm->vcpu[0 .. RF_RESERVATION_MAX_VCPUS - 1],
          vm->share_before[0 .. RF_RESERVATION_MAX_VCPUS - 1],
          vm->share_after[0 .. RF_RESERVATION_MAX_VCPUS - 1],
          vm->weight[0 .. RF_RESERVATION_MAX_VCPUS - 1];
      loop variant RF_RESERVATION_MAX_VCPUS - v;
    */
    for (uint32_t v = 0; v < RF_RESERVATION_MAX_VCPUS; v++) {
        struct rf_reservation_vcpu *vcpu = &vm->vcpu[v];
        vcpu->account.used = 0;
        vcpu->account.debt = 0;
        vcpu->share = 0;
        vcpu->next_period = 0;
        vm->share_before[v] = 0;
        vm->share_after[v] = 0;
        vm->weight[v] = 0;
        if (v < vcpus)
            vm->weight[v] = weights ? weights[v] : 1;
    }
    vm->budget_after = 0;
    /*@ assert weighed: rf_reservation_weighed(vm); */
    /*@ assert adds_up: rf_reservation_adds_up(vm); */
    /*@ assert sound: rf_reservation_sound(vm); */
    rf_reservation_set(vm, 0, budget);
    return RF_RESERVATION_OK;
}

/* Only the budget from change_period on is still known, and known to be settled. */
/*@
  requires \valid(vm) && rf_reservation_sound(vm) && rf_reservation_adds_up(vm);
  requires vm->change_period == 0 || rf_reservation_has_begun(vm, vm->change_period);
  assigns vm->budget_before, vm->first_period,
      vm->share_before[0 .. RF_RESERVATION_MAX_VCPUS - 1];
  ensures vm->budget_before == vm->budget_after && vm->first_period == vm->change_period;
  ensures rf_reservation_sound(vm);
  ensures rf_reservation_adds_up(vm);
  ensures rf_reservation_settled(vm);
*/
static inline void rf_reservation_settle(struct rf_reservation *vm) {
    /*@
      loop invariant 0 <= v <= RF_RESERVATION_MAX_VCPUS;
      loop invariant \forall integer w; 0 <= w < v ==>
          vm->share_before[w] == vm->share_after[w];
      loop assigns v, vm->share_before[0 .. RF_RESERVATION_MAX_VCPUS - 1];
      loop variant RF_RESERVATION_MAX_VCPUS - v;
    */
    for (uint32_t v = 0; v < RF_RESERVATION_MAX_VCPUS; v++)
        vm->share_before[v] = vm->share_after[v];
    vm->budget_before = vm->budget_after;
    vm->first_period = vm->change_period;
    /*@ assert others: rf_reservation_others_kept{Pre, Here}(vm, RF_RESERVATION_MAX_VCPUS); */
    /*@ assert after: rf_reservation_after_kept{Pre, Here}(vm); */
    /*@ assert limited: rf_reservation_limited(vm); */
    /*@ assert in_order: rf_reservation_in_order(vm); */
    /*@ assert begun: \forall integer v; 0 <= v < RF_RESERVATION_MAX_VCPUS ==>
          \at(rf_reservation_begun(vm, v), Pre) ==> rf_reservation_begun(vm, v); */
    /*@ assert in_force: rf_reservation_in_force(vm); */
    /*@ assert accounted: rf_reservation_all_accounted(vm); */
}

/*
 * From `period` on, which no vCPU has begun, the VM has `budget` events in each period.
 */
/*@
  requires \valid(vm) && rf_reservation_sound(vm) && rf_reservation_adds_up(vm);
  assigns vm->budget_before, vm->budget_after, vm->first_period, vm->change_period,
      vm->share_before[0 .. RF_RESERVATION_MAX_VCPUS - 1],
      vm->share_after[0 .. RF_RESERVATION_MAX_VCPUS - 1];
  behavior bad_budget:
    assumes budget == RF_BUDGET_UNLIMITED;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_BUDGET;
  behavior bad_period:
    assumes budget < RF_BUDGET_UNLIMITED;
    assumes rf_reservation_has_begun(vm, period) || period == RF_RESERVATION_NEVER;
    assigns \nothing;
    ensures \result == RF_RESERVATION_BAD_PERIOD;
  behavior pending:
    assumes budget < RF_BUDGET_UNLIMITED;
    assumes !rf_reservation_has_begun(vm, period) && period < RF_RESERVATION_NEVER;
    assumes 0 < vm->change_period < period &&
            !rf_reservation_has_begun(vm, vm->change_period);
    assigns \nothing;
    ensures \result == RF_RESERVATION_PENDING;
  behavior changed:
    assumes budget < RF_BUDGET_UNLIMITED;
    assumes !rf_reservation_has_begun(vm, period) && period < RF_RESERVATION_NEVER;
    assumes !(0 < vm->change_period < period &&
              !rf_reservation_has_begun(vm, vm->change_period));
    ensures \result == RF_RESERVATION_OK;
    ensures rf_reservation_sound(vm);
    ensures rf_reservation_adds_up(vm);
    ensures \forall integer p; p >= period ==> rf_reservation_budget_of(vm, p) == budget;
    ensures kept_before: \forall integer p; vm->first_period <= p < period ==>
        rf_reservation_budget_of(vm, p) == \old(rf_reservation_budget_of(vm, p));
    ensures shares_kept_before: \forall integer v, p; 0 <= v < RF_RESERVATION_MAX_VCPUS &&
        vm->first_period <= p < period ==> rf_reservation_share_of(vm, v, p) ==
            \old(rf_reservation_share_of(vm, v, p));
    ensures first_kept: vm->first_period == \old(vm->first_period) ||
        vm->first_period == \old(vm->change_period);
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_reservation_status rf_reservation_change(struct rf_reservation *vm,
                                                               uint64_t period, uint64_t budget) {
    if (budget == RF_BUDGET_UNLIMITED)
        return RF_RESERVATION_BAD_BUDGET;
    if (period == RF_RESERVATION_NEVER || rf_reservation_is_begun(vm, period))
        return RF_RESERVATION_BAD_PERIOD;
    if (vm->change_period == 0 || rf_reservation_is_begun(vm, vm->change_period)) {
        rf_reservation_settle(vm);
    } else if (period > vm->change_period) {
        return RF_RESERVATION_PENDING;
    }
    rf_reservation_set(vm, period, budget);
    return RF_RESERVATION_OK;
}

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
