/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Periods of a VM: which one a time lies in and when it ends, also when their length
 * changes while the VM runs; and the bandwidth that a budget in each of them is.
 *
 * Beyond H-MBR (NG-RES 2025), whose periods have one length for good.
 *
 * Rules
 *  1. Periods lie back to back, and their numbers go up by one. A VM's first period is
 *     number 0 and begins at time 0.
 *  2. A change of the length holds from the end of the period that it is asked for in. The
 *     end of that period stays where it was, so that no timer that is set for it is wrong.
 *  3. One change waits at a time; another one is refused until it is in force.
 *
 * Why no vCPU gets two budgets in less than a period: which period it is, is a matter of
 * the time alone, and every period ends exactly its own length after it began. A period
 * of the old length is never cut short, since the new one begins at its end; one of the
 * new length is never counted from an earlier grid, since it begins where the change was.
 * A budget is bound to a period's number (reservation.h, rule 4), and the change of a
 * budget that is asked for together with that of the length names the same period: its
 * first event and its first nanosecond belong together, on all cores.
 *
 * Why all vCPUs switch at the same instant: they ask the same state about the same clock,
 * one after the other. The change names a time that has not come, and whoever asks at
 * that time or later, on whichever core, finds it in force. Nobody who asks can have been
 * told about that time before.
 *
 * Bandwidths: a budget in a period is rounded up to whole events a second, so that sums
 * over VMs with any mix of periods need no fractions. A sum is above the exact one by less
 * than an event a second for each VM, and never below it. It is about whole periods:
 * what may be in a row in two of them is in budget.h.
 *
 * The caller serialises all calls for one VM, and its clock never runs backwards, from
 * whichever core it asks.
 *
 * Known gaps
 *  - A core may find out late that a period has begun. What it begins late is not as long.
 *  - Times are below 2^63 ns, 292 years.
 */
#ifndef RINGFENCE_PERIODS_H
#define RINGFENCE_PERIODS_H

#include "budget.h"

#define RF_PERIODS_END_NS 0x8000000000000000U

/* More than any bandwidth of which a sum is taken. */
#define RF_PERIODS_TOO_MUCH 0xffffffffffffffffU

enum rf_periods_status {
    RF_PERIODS_OK = 0,
    /* Errors; the state is as before. */
    RF_PERIODS_BAD_LENGTH, /* not 1 us to 1 s */
    RF_PERIODS_PENDING,    /* another change still waits */
};

struct rf_period {
    uint64_t number;
    uint64_t begin_ns;
    uint64_t end_ns; /* the next one begins */
};

struct rf_periods {
    uint64_t first; /* this period and those behind it have length_ns */
    uint64_t first_ns;
    uint64_t length_ns;
    uint64_t next_first; /* this one and those behind it have next_length_ns */
    uint64_t next_first_ns;
    uint64_t next_length_ns; /* 0: no change waits */
};

/*@
  predicate rf_periods_length(integer length_ns) =
      RF_BUDGET_MIN_PERIOD_NS <= length_ns <= RF_BUDGET_MAX_PERIOD_NS;

  // When a period begins, if the first has the number and begins at the time that are named.
  logic integer rf_periods_begin(integer first, integer first_ns, integer length_ns,
                                 integer number) =
      first_ns + (number - first) * length_ns;

  predicate rf_periods_sound{L}(struct rf_periods *vm) =
      rf_periods_length(vm->length_ns) && vm->first <= vm->first_ns < RF_PERIODS_END_NS &&
      (vm->next_length_ns != 0 ==>
          rf_periods_length(vm->next_length_ns) && vm->first < vm->next_first &&
          vm->next_first <= vm->next_first_ns &&
          vm->first_ns < vm->next_first_ns < RF_PERIODS_END_NS + RF_BUDGET_MAX_PERIOD_NS &&
          vm->next_first_ns == rf_periods_begin(vm->first, vm->first_ns, vm->length_ns,
                                                vm->next_first));

  // All that is in force at that time is known to be.
  predicate rf_periods_settled{L}(struct rf_periods *vm, integer now_ns) =
      vm->next_length_ns != 0 ==> now_ns < vm->next_first_ns;

  predicate rf_periods_kept{From, To}(struct rf_periods *vm) =
      \at(vm->first, To) == \at(vm->first, From) &&
      \at(vm->first_ns, To) == \at(vm->first_ns, From) &&
      \at(vm->length_ns, To) == \at(vm->length_ns, From) &&
      \at(vm->next_first, To) == \at(vm->next_first, From) &&
      \at(vm->next_first_ns, To) == \at(vm->next_first_ns, From) &&
      \at(vm->next_length_ns, To) == \at(vm->next_length_ns, From);

  // What waited is in force.
  predicate rf_periods_moved{From, To}(struct rf_periods *vm) =
      \at(vm->first, To) == \at(vm->next_first, From) &&
      \at(vm->first_ns, To) == \at(vm->next_first_ns, From) &&
      \at(vm->length_ns, To) == \at(vm->next_length_ns, From) &&
      \at(vm->next_length_ns, To) == 0;

  predicate rf_periods_is{L}(struct rf_period *period, struct rf_periods *vm) =
      vm->first <= period->number <= period->begin_ns &&
      period->begin_ns == rf_periods_begin(vm->first, vm->first_ns, vm->length_ns,
                                           period->number) &&
      period->end_ns == period->begin_ns + vm->length_ns;

  lemma rf_periods_at_least:
      \forall integer periods, length_ns;
          periods >= 0 && length_ns >= 1 ==> periods <= periods * length_ns;
*/

/* False for a length that periods cannot have. */
/*@
  assigns \nothing;
  ensures \result <==> rf_periods_length(length_ns);
*/
static inline bool rf_periods_length_ok(uint64_t length_ns) {
    return length_ns >= RF_BUDGET_MIN_PERIOD_NS && length_ns <= RF_BUDGET_MAX_PERIOD_NS;
}

/*@
  requires \valid(vm);
  behavior bad_length:
    assumes !rf_periods_length(length_ns);
    assigns \nothing;
    ensures \result == RF_PERIODS_BAD_LENGTH;
  behavior begun:
    assumes rf_periods_length(length_ns);
    assigns *vm;
    ensures \result == RF_PERIODS_OK;
    ensures rf_periods_sound(vm) && vm->next_length_ns == 0;
    ensures vm->first == 0 && vm->first_ns == 0 && vm->length_ns == length_ns;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_periods_status rf_periods_init(struct rf_periods *vm, uint64_t length_ns) {
    if (!rf_periods_length_ok(length_ns))
        return RF_PERIODS_BAD_LENGTH;
    vm->first = 0;
    vm->first_ns = 0;
    vm->length_ns = length_ns;
    vm->next_first = 0;
    vm->next_first_ns = 0;
    vm->next_length_ns = 0;
    return RF_PERIODS_OK;
}

/* The change that waits is in force if its time has come. */
/*@
  requires \valid(vm) && rf_periods_sound(vm) && now_ns < RF_PERIODS_END_NS;
  assigns *vm;
  ensures rf_periods_sound(vm) && rf_periods_settled(vm, now_ns);
  ensures \old(rf_periods_settled(vm, now_ns)) ==> rf_periods_kept{Pre, Post}(vm);
  ensures !\old(rf_periods_settled(vm, now_ns)) ==> rf_periods_moved{Pre, Post}(vm);
  ensures \old(vm->first_ns) <= now_ns ==> vm->first_ns <= now_ns;
*/
static inline void rf_periods_settle(struct rf_periods *vm, uint64_t now_ns) {
    if (vm->next_length_ns == 0 || now_ns < vm->next_first_ns)
        return;
    vm->first = vm->next_first;
    vm->first_ns = vm->next_first_ns;
    vm->length_ns = vm->next_length_ns;
    vm->next_length_ns = 0;
}

/* Which period it is at `now_ns`. A time before the last change that anybody asked about,
 * which no clock gives, is taken for that change. */
/*@
  requires \valid(vm) && \valid(period) && \separated(vm, period);
  requires rf_periods_sound(vm) && now_ns < RF_PERIODS_END_NS;
  assigns *vm, *period;
  ensures rf_periods_sound(vm) && rf_periods_settled(vm, \max(now_ns, vm->first_ns));
  ensures \old(rf_periods_settled(vm, now_ns)) ==> rf_periods_kept{Pre, Post}(vm);
  ensures !\old(rf_periods_settled(vm, now_ns)) ==> rf_periods_moved{Pre, Post}(vm);
  ensures rf_periods_is(period, vm);
  ensures period->begin_ns <= \max(now_ns, vm->first_ns) < period->end_ns;
*/
static inline void rf_periods_at(struct rf_periods *vm, uint64_t now_ns, struct rf_period *period) {
    rf_periods_settle(vm, now_ns);
    uint64_t since_ns = now_ns > vm->first_ns ? now_ns - vm->first_ns : 0;
    uint64_t periods = since_ns / vm->length_ns;
    /*@ assert periods * vm->length_ns <= since_ns < (periods + 1) * vm->length_ns; */
    /*@ assert periods <= periods * vm->length_ns; */
    period->number = vm->first + periods;
    period->begin_ns = vm->first_ns + periods * vm->length_ns;
    period->end_ns = period->begin_ns + vm->length_ns;
    /*@ assert period->number - vm->first == periods; */
    /*@ assert period->begin_ns == vm->first_ns + (integer)periods * vm->length_ns; */
}

/*
 * From the end of the period of `now_ns` on, periods have another length; it may be the
 * one that they have. `from` is the first of them.
 */
/*@
  requires \valid(vm) && \valid(from) && \separated(vm, from);
  requires rf_periods_sound(vm) && vm->first_ns <= now_ns < RF_PERIODS_END_NS;
  assigns *vm, *from;
  ensures rf_periods_sound(vm);
  behavior bad_length:
    assumes !rf_periods_length(length_ns);
    ensures \result == RF_PERIODS_BAD_LENGTH;
    ensures rf_periods_kept{Pre, Post}(vm);
  behavior pending:
    assumes rf_periods_length(length_ns);
    assumes vm->next_length_ns != 0 && now_ns < vm->next_first_ns;
    ensures \result == RF_PERIODS_PENDING;
    ensures rf_periods_kept{Pre, Post}(vm);
  behavior changed:
    assumes rf_periods_length(length_ns);
    assumes vm->next_length_ns == 0 || vm->next_first_ns <= now_ns;
    ensures \result == RF_PERIODS_OK;
    ensures vm->next_length_ns == length_ns;
    ensures vm->next_first == from->number && vm->next_first_ns == from->begin_ns;
    ensures from->end_ns == from->begin_ns + length_ns;
    ensures not_yet: now_ns < from->begin_ns <= now_ns + vm->length_ns;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_periods_status rf_periods_change(struct rf_periods *vm, uint64_t now_ns,
                                                       uint64_t length_ns, struct rf_period *from) {
    if (!rf_periods_length_ok(length_ns))
        return RF_PERIODS_BAD_LENGTH;
    if (vm->next_length_ns != 0 && now_ns < vm->next_first_ns)
        return RF_PERIODS_PENDING;
    rf_periods_at(vm, now_ns, from);
    /*@ assert 0 <= (from->number - vm->first) * vm->length_ns; */
    /*@ assert vm->first_ns <= from->begin_ns <= now_ns; */
    from->number++;
    /*@ assert (from->number - vm->first) * vm->length_ns ==
          ((from->number - 1) - vm->first) * vm->length_ns + vm->length_ns; */
    from->begin_ns = from->end_ns;
    from->end_ns = from->begin_ns + length_ns;
    vm->next_first = from->number;
    vm->next_first_ns = from->begin_ns;
    vm->next_length_ns = length_ns;
    /*@ assert vm->next_first_ns == rf_periods_begin(vm->first, vm->first_ns, vm->length_ns,
          vm->next_first); */
    /*@ assert vm->next_first <= vm->next_first_ns; */
    return RF_PERIODS_OK;
}

/*
 * Events a second of `budget` events in each period, rounded up; RF_PERIODS_TOO_MUCH for
 * more than 64 bits, and for a length that periods cannot have.
 */
/*@
  assigns \nothing;
  ensures \result != RF_PERIODS_TOO_MUCH ==>
      (\result - 1) * length_ns < budget * RF_BUDGET_NS_PER_S <= \result * length_ns;
*/
static inline uint64_t rf_periods_bandwidth(uint64_t budget, uint64_t length_ns) {
    if (!rf_periods_length_ok(length_ns))
        return RF_PERIODS_TOO_MUCH;
    uint64_t whole = budget / length_ns;
    uint64_t rest = budget % length_ns;
    if (whole >= RF_PERIODS_TOO_MUCH / RF_BUDGET_NS_PER_S - 1)
        return RF_PERIODS_TOO_MUCH;
    uint64_t of_rest = (rest * RF_BUDGET_NS_PER_S + (length_ns - 1)) / length_ns;
    /*@ assert budget == whole * length_ns + rest; */
    /*@ assert (of_rest - 1) * length_ns < rest * 1000000000 <= of_rest * length_ns; */
    /*@ assert of_rest <= 1000000000; */
    uint64_t bandwidth = whole * RF_BUDGET_NS_PER_S + of_rest;
    /*@ assert bandwidth * length_ns ==
          (whole * length_ns) * 1000000000 + of_rest * length_ns; */
    return bandwidth;
}

/* Both bandwidths together; RF_PERIODS_TOO_MUCH for more than 64 bits. */
/*@
  assigns \nothing;
  ensures \result == \min(one + other, RF_PERIODS_TOO_MUCH);
*/
static inline uint64_t rf_periods_together(uint64_t one, uint64_t other) {
    return one < RF_PERIODS_TOO_MUCH - other ? one + other : RF_PERIODS_TOO_MUCH;
}

#endif
