/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Budget of a core: how many events its best-effort work may cause in a period.
 *
 * Source: RT-Gang (RTAS 2019) IV-F: a core is held to a number of events per
 * period, counted in hardware, and throttled for the rest of a period when they
 * are used up.
 *
 * Rules
 *  1. A core that has used its threshold, in reads or in writes, is throttled. A
 *     threshold of zero throttles at once, before any event.
 *  2. A core is un-throttled by a refill, if that leaves it some budget; never by a
 *     looser threshold.
 *  3. Use beyond the threshold is debt. Debt is paid first, out of the budget of
 *     the next period, and the next, until nothing is left; nothing else clears it.
 *
 * State of a core, for reads and writes apart: `used`, the part of this period's
 * budget that is spent, on events or on debt; `debt`, events still owed. An event
 * is first owed and then paid while budget lasts, so that every event charged
 * is in the `used` of exactly one period or still in `debt`.
 *
 * Quantum: the largest single charge, that is, the most events that a core can
 * cause between two charges (for a counter with an overflow interrupt: the events
 * until the core really stands still). In one period a core uses at most the
 * budget and one quantum; over k periods at most k budgets and one quantum. The
 * budget of a period is the loosest threshold that was in force in it.
 *
 * Which threshold is in force, and when, is the domain's matter: regulator.h.
 *
 * Known gaps
 *  - A budget may be spent at the end of one period and again at the start of
 *    the next: a window of a period's length that is not a period can see two.
 *  - Debt saturates at 2^64 - 1 events.
 */
#ifndef RINGFENCE_BUDGET_H
#define RINGFENCE_BUDGET_H

#include "cpu_set.h"

#define RF_BUDGET_MIN_PERIOD_NS 1000U
#define RF_BUDGET_MAX_PERIOD_NS 1000000000U
#define RF_BUDGET_NS_PER_S 1000000000U

/* A budget without a limit; not a number of events. */
#define RF_BUDGET_UNLIMITED 0xffffffffffffffffU
#define RF_BUDGET_MAX_DEBT 0xffffffffffffffffU

/* Events per period of one core. */
struct rf_budget {
    uint64_t reads;
    uint64_t writes;
};

/* One direction of one core, in events. */
struct rf_budget_account {
    uint64_t used; /* of this period's budget, for events or for debt */
    uint64_t debt; /* used beyond the budget and not paid yet */
};

struct rf_budget_core {
    struct rf_budget_account reads;
    struct rf_budget_account writes;
    uint32_t in_domain; /* 1 or 0: whether the core is regulated at all */
    uint32_t throttled; /* 1 or 0 */
};

/*@
  predicate rf_budget_spent{L}(struct rf_budget_account *account, integer budget) =
      budget != RF_BUDGET_UNLIMITED && account->used >= budget;

  predicate rf_budget_out_of_budget{L}(struct rf_budget_core *core,
                                       struct rf_budget *threshold) =
      rf_budget_spent(&core->reads, threshold->reads) ||
      rf_budget_spent(&core->writes, threshold->writes);

  predicate rf_budget_fresh{L}(struct rf_budget_core *core) =
      core->reads.used == 0 && core->reads.debt == 0 && core->writes.used == 0 &&
      core->writes.debt == 0 && core->throttled == 0;

  // A direction owes nothing while it has budget left.
  predicate rf_budget_settled{L}(struct rf_budget_account *account, integer budget) =
      account->debt > 0 ==> account->used >= budget;

  // What a core that runs has: budget left in each limited direction, and no debt there.
  predicate rf_budget_within{L}(struct rf_budget_core *core, struct rf_budget *threshold) =
      !rf_budget_out_of_budget(core, threshold) &&
      rf_budget_settled(&core->reads, threshold->reads) &&
      rf_budget_settled(&core->writes, threshold->writes);

  predicate rf_budget_paid{From, To}(struct rf_budget_account *account, integer budget) =
      \at(account->used + account->debt, To) == \at(account->used + account->debt, From) &&
      \at(account->used, From) <= \at(account->used, To) <=
          \max(\at(account->used, From), budget) &&
      rf_budget_settled{To}(account, budget);

  predicate rf_budget_charged{From, To}(struct rf_budget_account *account, integer events,
                                        integer budget) =
      \at(account->used + account->debt, To) == \at(account->used, From) +
          \min(\at(account->debt, From) + events, RF_BUDGET_MAX_DEBT) &&
      \at(account->used, From) <= \at(account->used, To) <=
          \max(\at(account->used, From), budget) &&
      rf_budget_settled{To}(account, budget);

  predicate rf_budget_refilled{From, To}(struct rf_budget_account *account, integer budget) =
      \at(account->used + account->debt, To) == \at(account->debt, From) &&
      \at(account->used, To) <= budget && rf_budget_settled{To}(account, budget);

  predicate rf_budget_core_kept{From, To}(struct rf_budget_core *core) =
      \at(core->reads.used, To) == \at(core->reads.used, From) &&
      \at(core->reads.debt, To) == \at(core->reads.debt, From) &&
      \at(core->writes.used, To) == \at(core->writes.used, From) &&
      \at(core->writes.debt, To) == \at(core->writes.debt, From) &&
      \at(core->throttled, To) == \at(core->throttled, From);

  predicate rf_budget_core_held{From, To}(struct rf_budget_core *core,
                                          struct rf_budget *threshold) =
      \at(rf_budget_paid{From, To}(&core->reads, threshold->reads) &&
          rf_budget_paid{From, To}(&core->writes, threshold->writes) &&
          (core->throttled == 1 <==>
              \at(core->throttled, From) == 1 || rf_budget_out_of_budget(core, threshold)), To);

  predicate rf_budget_core_charged{From, To}(struct rf_budget_core *core, integer reads,
                                             integer writes, struct rf_budget *threshold) =
      \at(rf_budget_charged{From, To}(&core->reads, reads, threshold->reads) &&
          rf_budget_charged{From, To}(&core->writes, writes, threshold->writes) &&
          (core->throttled == 1 <==>
              \at(core->throttled, From) == 1 || rf_budget_out_of_budget(core, threshold)), To);

  predicate rf_budget_core_refilled{From, To}(struct rf_budget_core *core,
                                              struct rf_budget *threshold) =
      \at(rf_budget_refilled{From, To}(&core->reads, threshold->reads) &&
          rf_budget_refilled{From, To}(&core->writes, threshold->writes) &&
          (core->throttled == 1 <==>
              \at(core->throttled, From) == 1 && rf_budget_out_of_budget(core, threshold)), To);

  // No budget is spent and none pays: debt stays owed.
  predicate rf_budget_core_unspent{From, To}(struct rf_budget_core *core) =
      \at(core->reads.used, To) == 0 && \at(core->writes.used, To) == 0 &&
      \at(core->reads.debt, To) == \at(core->reads.debt, From) &&
      \at(core->writes.debt, To) == \at(core->writes.debt, From) &&
      \at(core->throttled, To) == \at(core->throttled, From);

  lemma rf_budget_distribute:
      \forall integer whole, rest, factor;
          (whole * 1000000000 + rest) * factor ==
              (whole * factor) * 1000000000 + rest * factor;
*/

/*
 * Events of `bytes_per_event` bytes in `period_ns` at `bytes_per_second`, rounded
 * down: floor(bytes_per_second * period_ns / (10^9 * bytes_per_event)). Exact:
 * whole bytes per nanosecond and the rest are scaled apart, so that no product
 * needs more than 64 bits. True for periods of 1 us to 1 s, bytes_per_event of at
 * least 1, and every rate but 2^64 - 1, which would be mistaken for "unlimited";
 * otherwise `events` stays as it was.
 */
/*@
  requires \valid(events);
  assigns *events;
  behavior exact:
    assumes 1000 <= period_ns <= 1000000000 && bytes_per_event >= 1 &&
            bytes_per_second != RF_BUDGET_UNLIMITED;
    ensures \result;
    ensures not_above: *events * bytes_per_event * 1000000000 <= bytes_per_second * period_ns;
    ensures not_below: bytes_per_second * period_ns < (*events + 1) * bytes_per_event * 1000000000;
    ensures *events < RF_BUDGET_UNLIMITED;
  behavior refused:
    assumes !(1000 <= period_ns <= 1000000000 && bytes_per_event >= 1 &&
              bytes_per_second != RF_BUDGET_UNLIMITED);
    assigns \nothing;
    ensures !\result;
  complete behaviors;
  disjoint behaviors;
*/
static inline bool rf_budget_events_per_period(uint64_t bytes_per_second, uint64_t period_ns,
                                               uint32_t bytes_per_event, uint64_t *events) {
    if (period_ns < RF_BUDGET_MIN_PERIOD_NS || period_ns > RF_BUDGET_MAX_PERIOD_NS ||
        bytes_per_event == 0 || bytes_per_second == RF_BUDGET_UNLIMITED)
        return false;
    uint64_t bytes_per_ns = bytes_per_second / RF_BUDGET_NS_PER_S;
    uint64_t rest = bytes_per_second % RF_BUDGET_NS_PER_S;
    uint64_t bytes = bytes_per_ns * period_ns + rest * period_ns / RF_BUDGET_NS_PER_S;
    /*@ assert bytes_per_second == bytes_per_ns * 1000000000 + rest; */
    /*@ assert bytes_per_second * period_ns ==
          (bytes_per_ns * period_ns) * 1000000000 + rest * period_ns; */
    /*@ assert bytes * 1000000000 <= bytes_per_second * period_ns; */
    /*@ assert bytes_per_second * period_ns < (bytes + 1) * 1000000000; */
    *events = bytes / bytes_per_event;
    /*@ assert bytes + 1 <= (*events + 1) * bytes_per_event; */
    return true;
}

/* A core that has used nothing and owes nothing, regulated or not. */
/*@
  requires \valid(core);
  assigns *core;
  ensures rf_budget_fresh(core);
  ensures core->in_domain == (in_domain ? 1 : 0);
*/
static inline void rf_budget_init(struct rf_budget_core *core, bool in_domain) {
    core->reads.used = 0;
    core->reads.debt = 0;
    core->writes.used = 0;
    core->writes.debt = 0;
    core->in_domain = in_domain ? 1 : 0;
    core->throttled = 0;
}

/* Pays debt out of what is left of this period's budget. */
/*@
  requires \valid(account);
  assigns *account;
  ensures rf_budget_paid{Pre, Post}(account, budget);
*/
static inline void rf_budget_pay(struct rf_budget_account *account, uint64_t budget) {
    if (account->used >= budget)
        return;
    uint64_t left = budget - account->used;
    uint64_t paid = account->debt < left ? account->debt : left;
    account->used += paid;
    account->debt -= paid;
}

/* Counts events: owed first, then paid as far as the budget goes. */
/*@
  requires \valid(account);
  assigns *account;
  ensures rf_budget_charged{Pre, Post}(account, events, budget);
*/
static inline void rf_budget_owe(struct rf_budget_account *account, uint64_t events,
                                 uint64_t budget) {
    uint64_t room = RF_BUDGET_MAX_DEBT - account->debt;
    account->debt += events < room ? events : room;
    rf_budget_pay(account, budget);
}

/*@
  requires \valid_read(account);
  assigns \nothing;
  ensures \result == 0 <==> rf_budget_spent(account, budget);
  ensures budget == RF_BUDGET_UNLIMITED ==> \result == RF_BUDGET_UNLIMITED;
  ensures budget != RF_BUDGET_UNLIMITED ==>
      \result == \max(0, budget - account->used);
*/
static inline uint64_t rf_budget_left(const struct rf_budget_account *account, uint64_t budget) {
    if (budget == RF_BUDGET_UNLIMITED)
        return RF_BUDGET_UNLIMITED;
    return account->used < budget ? budget - account->used : 0;
}

/*@
  requires \valid_read(core) && \valid_read(threshold);
  assigns \nothing;
  ensures \result <==> rf_budget_out_of_budget(core, threshold);
*/
static inline bool rf_budget_exhausted(const struct rf_budget_core *core,
                                       const struct rf_budget *threshold) {
    return rf_budget_left(&core->reads, threshold->reads) == 0 ||
           rf_budget_left(&core->writes, threshold->writes) == 0;
}

/*
 * Holds a core to the threshold, which a gang that started may have made
 * stricter. True when that throttles the core now.
 */
/*@
  requires \valid(core) && \valid_read(threshold) && \separated(core, threshold);
  requires core->throttled == 0 || core->throttled == 1;
  assigns core->reads, core->writes, core->throttled;
  ensures rf_budget_core_held{Pre, Post}(core, threshold);
  ensures core->throttled == 0 || core->throttled == 1;
  ensures \result <==> \old(core->throttled) == 0 && core->throttled == 1;
*/
static inline bool rf_budget_hold(struct rf_budget_core *core, const struct rf_budget *threshold) {
    rf_budget_pay(&core->reads, threshold->reads);
    rf_budget_pay(&core->writes, threshold->writes);
    if (core->throttled || !rf_budget_exhausted(core, threshold))
        return false;
    core->throttled = 1;
    return true;
}

/* Counts events of a core under a threshold. True while that core is throttled. */
/*@
  requires \valid(core) && \valid_read(threshold) && \separated(core, threshold);
  requires core->throttled == 0 || core->throttled == 1;
  assigns core->reads, core->writes, core->throttled;
  ensures rf_budget_core_charged{Pre, Post}(core, reads, writes, threshold);
  ensures core->throttled == 0 || core->throttled == 1;
  ensures \result <==> core->throttled == 1;
*/
static inline bool rf_budget_charge(struct rf_budget_core *core, uint64_t reads, uint64_t writes,
                                    const struct rf_budget *threshold) {
    rf_budget_owe(&core->reads, reads, threshold->reads);
    rf_budget_owe(&core->writes, writes, threshold->writes);
    if (rf_budget_exhausted(core, threshold))
        core->throttled = 1;
    return core->throttled;
}

/* Nothing of the new period's budget is spent; debt stays owed. */
/*@
  requires \valid(core);
  assigns core->reads.used, core->writes.used;
  ensures rf_budget_core_unspent{Pre, Post}(core);
*/
static inline void rf_budget_unspend(struct rf_budget_core *core) {
    core->reads.used = 0;
    core->writes.used = 0;
}

/* Gives a core a new budget, less its debt. True when that un-throttles it. */
/*@
  requires \valid(core) && \valid_read(threshold) && \separated(core, threshold);
  requires core->throttled == 0 || core->throttled == 1;
  assigns core->reads, core->writes, core->throttled;
  ensures rf_budget_core_refilled{Pre, Post}(core, threshold);
  ensures core->throttled == 0 || core->throttled == 1;
  ensures \result <==> \old(core->throttled) == 1 && core->throttled == 0;
*/
static inline bool rf_budget_refill(struct rf_budget_core *core,
                                    const struct rf_budget *threshold) {
    rf_budget_unspend(core);
    rf_budget_pay(&core->reads, threshold->reads);
    rf_budget_pay(&core->writes, threshold->writes);
    if (!core->throttled || rf_budget_exhausted(core, threshold))
        return false;
    core->throttled = 0;
    return true;
}

#endif
