/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Budget of a reservation: what a VM's vCPUs have together in a period, divided into
 * shares, and how it goes from one to another. reservation.h has the rules; here are 1
 * and 5.
 *
 * Two budgets with their shares are known at a time: the one that holds from
 * change_period on, and the one before it, from first_period on. Of earlier periods
 * nothing is known any more, and none of them can begin.
 */
#ifndef RINGFENCE_RESERVATION_BUDGET_H
#define RINGFENCE_RESERVATION_BUDGET_H

#include "budget.h"
#include "reservation_shares.h"

#define RF_RESERVATION_MAX_VCPUS 8U

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
*/

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

#endif
