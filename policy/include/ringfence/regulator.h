/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef RINGFENCE_REGULATOR_H
#define RINGFENCE_REGULATOR_H

/*
 * Bandwidth regulator: how much traffic best-effort work may cause while gangs run.
 *
 * Sources: RT-Gang (RTAS 2019) III-D and IV-F: while a gang runs, every other
 * core is held to the traffic that the gang tolerates, per period, counted by
 * hardware events. RT-Gang++ 6.2 and 6.4: several partitions run gangs at the
 * same time and share one resource (memory, or the last-level cache).
 *
 * Rules
 *  1. A domain is a set of cores that share one resource. In each of 64
 *     partitions at most one gang runs, with its own tolerance.
 *  2. The threshold of the domain is the strictest tolerance of the gangs that
 *     run now, for reads and for writes apart. With no gang, nothing is limited.
 *  3. A core that has used its threshold, in reads or in writes, is throttled.
 *     Tolerance zero throttles at once, before any event.
 *  4. A stricter gang that starts in mid-period throttles at once the cores that
 *     have already used its tolerance.
 *  5. A core is un-throttled by the refill, or because no gang runs at all;
 *     never because one gang of several ended, nor by a looser tolerance.
 *  6. Use beyond the threshold is debt. Debt is paid first, out of the budget of
 *     the next period, and the next, until nothing is left; nothing else clears it.
 *  7. While no gang runs use is free: it is not counted. What was used in this
 *     period while a gang ran stays counted, and debt stays owed. Otherwise a
 *     gang that comes and goes would hand out a whole budget and forgive one
 *     overshoot each time; and idle time has no budget that could pay.
 *
 * State of a core, for reads and writes apart: `used`, the part of this period's
 * budget that is spent, on events or on debt; `debt`, events still owed. An event
 * is first owed and then paid while budget lasts, so that every event charged
 * under a gang is in the `used` of exactly one period or still in `debt`.
 *
 * Quantum: the largest single charge, that is, the most events that a core can
 * cause between two calls of rf_regulator_charge (for a counter with an overflow
 * interrupt: the events until the core really stands still). In one period a core
 * uses at most the budget and one quantum, while some gang keeps running; over k
 * periods at most k budgets and one quantum. The budget of a period is the
 * loosest threshold that was in force in it.
 *
 * The caller serialises all calls for one domain, charges what a core has used
 * before it tells of a refill, a started or a stopped gang, stops the cores that
 * are reported throttled, and charges best-effort use only.
 *
 * Known gaps
 *  - A budget may be spent at the end of one period and again at the start of
 *    the next: a window of a period's length that is not a period can see two.
 *  - Each time the first gang starts again, a throttled core can be caught with
 *    one more quantum under way. It becomes debt, but in that period the use is
 *    budget plus one quantum for every such start.
 *  - Traffic of a gang itself is not limited, nor is that of devices.
 *  - Debt saturates at 2^64 - 1 events.
 *
 * Proved for every input: no run-time error, the exact conversion, that a changed
 * threshold is the strictest tolerance, the accounts of a core, that a started
 * gang un-throttles no core, a stopped one only when none runs, and that a refill
 * throttles none. That a started gang throttles every core over the new threshold,
 * which CPUs the sets that are handed back name, and what holds over several steps
 * is not proved but explored in every state of small domains
 * (crates/ringfence-policy/tests/regulator/exhaustive.rs).
 */

#include "cpu_set.h"

#define RF_REGULATOR_MIN_PERIOD_NS 1000U
#define RF_REGULATOR_MAX_PERIOD_NS 1000000000U
#define RF_REGULATOR_NS_PER_S 1000000000U

/* A budget without a limit; not a number of events. */
#define RF_REGULATOR_UNLIMITED 0xffffffffffffffffU
#define RF_REGULATOR_MAX_DEBT 0xffffffffffffffffU

enum rf_regulator_status {
    RF_REGULATOR_OK = 0,
    /* The core is out of budget: stop its best-effort work. */
    RF_REGULATOR_THROTTLE,
    /* Errors; the state is as before. */
    RF_REGULATOR_BAD_CPU,
    RF_REGULATOR_BAD_PARTITION,
    RF_REGULATOR_BAD_RATE,
    RF_REGULATOR_EMPTY_DOMAIN,
};

/* Events per period of one core. */
struct rf_regulator_budget {
    uint64_t reads;
    uint64_t writes;
};

/* One direction of one core, in events. */
struct rf_regulator_account {
    uint64_t used; /* of this period's budget, for events or for debt */
    uint64_t debt; /* used beyond the budget and not paid yet */
};

struct rf_regulator_core {
    struct rf_regulator_account reads;
    struct rf_regulator_account writes;
    uint32_t in_domain; /* 1 or 0 */
    uint32_t throttled; /* 1 or 0 */
};

struct rf_regulator {
    /* Strictest tolerance of the gangs that run; unlimited when none runs. */
    struct rf_regulator_budget threshold;
    /* Of the gang that runs; unlimited where none runs. */
    struct rf_regulator_budget tolerance[RF_MAX_PARTITIONS];
    struct rf_regulator_core core[RF_MAX_CPUS];
    /* 1 for the partitions in which a gang runs, else 0. */
    uint32_t gang_runs[RF_MAX_PARTITIONS];
    /* 1 while a gang runs in any partition, else 0. */
    uint32_t regulated;
};

/*@
  predicate rf_regulator_spent{L}(struct rf_regulator_account *account, integer budget) =
      budget != RF_REGULATOR_UNLIMITED && account->used >= budget;

  predicate rf_regulator_out_of_budget{L}(struct rf_regulator_core *core,
                                          struct rf_regulator_budget *threshold) =
      rf_regulator_spent(&core->reads, threshold->reads) ||
      rf_regulator_spent(&core->writes, threshold->writes);

  // The strictest tolerance of the running gangs is no more than each and equal to one.
  predicate rf_regulator_reads_within_all{L}(struct rf_regulator *r) =
      \forall integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0 ==>
          r->threshold.reads <= r->tolerance[p].reads;
  predicate rf_regulator_reads_of_one{L}(struct rf_regulator *r) =
      r->threshold.reads == RF_REGULATOR_UNLIMITED ||
          \exists integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0 &&
              r->threshold.reads == r->tolerance[p].reads;

  predicate rf_regulator_writes_within_all{L}(struct rf_regulator *r) =
      \forall integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0 ==>
          r->threshold.writes <= r->tolerance[p].writes;
  predicate rf_regulator_writes_of_one{L}(struct rf_regulator *r) =
      r->threshold.writes == RF_REGULATOR_UNLIMITED ||
          \exists integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0 &&
              r->threshold.writes == r->tolerance[p].writes;

  predicate rf_regulator_any_gang{L}(struct rf_regulator *r) =
      \exists integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0;

  predicate rf_regulator_domain_flags{L}(struct rf_regulator *r) =
      \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          r->core[c].in_domain == 0 || r->core[c].in_domain == 1;

  predicate rf_regulator_throttled_flags{L}(struct rf_regulator *r) =
      \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          r->core[c].throttled == 0 || r->core[c].throttled == 1;

  predicate rf_regulator_throttles_domain{L}(struct rf_regulator *r) =
      \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          r->core[c].throttled == 1 ==> r->core[c].in_domain == 1;

  predicate rf_regulator_rest_throttles_none{L}(struct rf_regulator *r) =
      r->regulated == 0 ==>
          \forall integer c; 0 <= c < RF_MAX_CPUS ==> r->core[c].throttled == 0;

  // A core is throttled only in the domain, and only while a gang runs.
  predicate rf_regulator_sound{L}(struct rf_regulator *r) =
      rf_regulator_domain_flags(r) && rf_regulator_throttled_flags(r) &&
      rf_regulator_throttles_domain(r) &&
      rf_regulator_rest_throttles_none(r);

  lemma rf_regulator_distribute:
      \forall integer whole, rest, factor;
          (whole * 1000000000 + rest) * factor ==
              (whole * factor) * 1000000000 + rest * factor;
*/

/*
 * Events of `bytes_per_event` bytes in `period_ns` at `bytes_per_second`, rounded
 * down: floor(bytes_per_second * period_ns / (10^9 * bytes_per_event)). Exact:
 * whole bytes per nanosecond and the rest are scaled apart, so that no product
 * needs more than 64 bits. Periods of 1 us to 1 s; bytes_per_event of at least 1; every
 * rate but 2^64 - 1, which would be mistaken for "unlimited".
 */
/*@
  requires \valid(events);
  assigns *events;
  behavior exact:
    assumes 1000 <= period_ns <= 1000000000 && bytes_per_event >= 1 &&
            bytes_per_second != RF_REGULATOR_UNLIMITED;
    ensures \result == RF_REGULATOR_OK;
    ensures not_above: *events * bytes_per_event * 1000000000 <= bytes_per_second * period_ns;
    ensures not_below: bytes_per_second * period_ns < (*events + 1) * bytes_per_event * 1000000000;
    ensures *events < RF_REGULATOR_UNLIMITED;
  behavior refused:
    assumes !(1000 <= period_ns <= 1000000000 && bytes_per_event >= 1 &&
              bytes_per_second != RF_REGULATOR_UNLIMITED);
    assigns \nothing;
    ensures \result == RF_REGULATOR_BAD_RATE;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_regulator_status rf_regulator_events_per_period(uint64_t bytes_per_second,
                                                                      uint64_t period_ns,
                                                                      uint32_t bytes_per_event,
                                                                      uint64_t *events) {
    if (period_ns < RF_REGULATOR_MIN_PERIOD_NS || period_ns > RF_REGULATOR_MAX_PERIOD_NS ||
        bytes_per_event == 0 || bytes_per_second == RF_REGULATOR_UNLIMITED)
        return RF_REGULATOR_BAD_RATE;
    uint64_t bytes_per_ns = bytes_per_second / RF_REGULATOR_NS_PER_S;
    uint64_t rest = bytes_per_second % RF_REGULATOR_NS_PER_S;
    uint64_t bytes = bytes_per_ns * period_ns + rest * period_ns / RF_REGULATOR_NS_PER_S;
    /*@ assert bytes_per_second == bytes_per_ns * 1000000000 + rest; */
    /*@ assert bytes_per_second * period_ns ==
          (bytes_per_ns * period_ns) * 1000000000 + rest * period_ns; */
    /*@ assert bytes * 1000000000 <= bytes_per_second * period_ns; */
    /*@ assert bytes_per_second * period_ns < (bytes + 1) * 1000000000; */
    *events = bytes / bytes_per_event;
    /*@ assert bytes + 1 <= (*events + 1) * bytes_per_event; */
    return RF_REGULATOR_OK;
}

/* Pays debt out of what is left of this period's budget. */
/*@
  requires \valid(account);
  assigns *account;
  ensures account->used + account->debt == \old(account->used + account->debt);
  ensures \old(account->used) <= account->used <= \max(\old(account->used), budget);
  ensures account->debt > 0 ==> account->used >= budget;
*/
static inline void rf_regulator_pay(struct rf_regulator_account *account, uint64_t budget) {
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
  ensures account->used + account->debt ==
      \old(account->used) + \min(\old(account->debt) + events, RF_REGULATOR_MAX_DEBT);
  ensures \old(account->used) <= account->used <= \max(\old(account->used), budget);
  ensures account->debt > 0 ==> account->used >= budget;
*/
static inline void rf_regulator_owe(struct rf_regulator_account *account, uint64_t events,
                                    uint64_t budget) {
    uint64_t room = RF_REGULATOR_MAX_DEBT - account->debt;
    account->debt += events < room ? events : room;
    rf_regulator_pay(account, budget);
}

/*@
  requires \valid_read(account);
  assigns \nothing;
  ensures \result == 0 <==> rf_regulator_spent(account, budget);
  ensures budget == RF_REGULATOR_UNLIMITED ==> \result == RF_REGULATOR_UNLIMITED;
  ensures budget != RF_REGULATOR_UNLIMITED ==>
      \result == \max(0, budget - account->used);
*/
static inline uint64_t rf_regulator_left(const struct rf_regulator_account *account,
                                         uint64_t budget) {
    if (budget == RF_REGULATOR_UNLIMITED)
        return RF_REGULATOR_UNLIMITED;
    return account->used < budget ? budget - account->used : 0;
}

/*@
  requires \valid_read(core) && \valid_read(threshold);
  assigns \nothing;
  ensures \result <==> rf_regulator_out_of_budget(core, threshold);
*/
static inline bool rf_regulator_exhausted(const struct rf_regulator_core *core,
                                          const struct rf_regulator_budget *threshold) {
    return rf_regulator_left(&core->reads, threshold->reads) == 0 ||
           rf_regulator_left(&core->writes, threshold->writes) == 0;
}

/* Sets threshold and regulated from the tolerances of the gangs that run. */
/*@
  requires \valid(regulator);
  assigns regulator->threshold, regulator->regulated;
  ensures regulator->regulated == 0 || regulator->regulated == 1;
  ensures regulator->regulated == 1 <==> rf_regulator_any_gang(regulator);
  ensures rf_regulator_reads_within_all(regulator);
  ensures rf_regulator_reads_of_one(regulator);
  ensures rf_regulator_writes_within_all(regulator);
  ensures rf_regulator_writes_of_one(regulator);
*/
static inline void rf_regulator_update_threshold(struct rf_regulator *regulator) {
    uint32_t regulated = 0;
    uint64_t reads = RF_REGULATOR_UNLIMITED;
    uint64_t writes = RF_REGULATOR_UNLIMITED;
    /*@
      loop invariant 0 <= p <= RF_MAX_PARTITIONS;
      loop invariant regulated == 0 || regulated == 1;
      loop invariant regulated == 1 <==>
          \exists integer q; 0 <= q < p && regulator->gang_runs[q] != 0;
      loop invariant \forall integer q; 0 <= q < p && regulator->gang_runs[q] != 0 ==>
          reads <= regulator->tolerance[q].reads;
      loop invariant \forall integer q; 0 <= q < p && regulator->gang_runs[q] != 0 ==>
          writes <= regulator->tolerance[q].writes;
      loop invariant reads == RF_REGULATOR_UNLIMITED ||
          \exists integer q; 0 <= q < p && regulator->gang_runs[q] != 0 &&
              reads == regulator->tolerance[q].reads;
      loop invariant writes == RF_REGULATOR_UNLIMITED ||
          \exists integer q; 0 <= q < p && regulator->gang_runs[q] != 0 &&
              writes == regulator->tolerance[q].writes;
      loop assigns p, regulated, reads, writes;
      loop variant RF_MAX_PARTITIONS - p;
    */
    for (uint32_t p = 0; p < RF_MAX_PARTITIONS; p++) {
        if (!regulator->gang_runs[p])
            continue;
        regulated = 1;
        if (regulator->tolerance[p].reads < reads)
            reads = regulator->tolerance[p].reads;
        if (regulator->tolerance[p].writes < writes)
            writes = regulator->tolerance[p].writes;
    }
    regulator->regulated = regulated;
    regulator->threshold.reads = reads;
    regulator->threshold.writes = writes;
}

/* Starts to regulate `cpus`, at least one, with no gang running. */
/*@
  requires \valid(regulator) && \valid_read(cpus) && \separated(regulator, cpus);
  behavior empty:
    assumes rf_cpu_set_empty(cpus);
    assigns \nothing;
    ensures \result == RF_REGULATOR_EMPTY_DOMAIN;
  behavior domain:
    assumes !rf_cpu_set_empty(cpus);
    assigns *regulator;
    ensures \result == RF_REGULATOR_OK;
    ensures rf_regulator_sound(regulator);
    ensures regulator->regulated == 0;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_regulator_status rf_regulator_init(struct rf_regulator *regulator,
                                                         const struct rf_cpu_set *cpus) {
    if (rf_cpu_set_is_empty(cpus))
        return RF_REGULATOR_EMPTY_DOMAIN;
    /*@
      loop invariant 0 <= p <= RF_MAX_PARTITIONS;
      loop invariant \forall integer q; 0 <= q < p ==> regulator->gang_runs[q] == 0;
      loop assigns p, regulator->gang_runs[0 .. RF_MAX_PARTITIONS - 1],
          regulator->tolerance[0 .. RF_MAX_PARTITIONS - 1];
      loop variant RF_MAX_PARTITIONS - p;
    */
    for (uint32_t p = 0; p < RF_MAX_PARTITIONS; p++) {
        regulator->gang_runs[p] = 0;
        regulator->tolerance[p].reads = RF_REGULATOR_UNLIMITED;
        regulator->tolerance[p].writes = RF_REGULATOR_UNLIMITED;
    }
    /*@
      loop invariant 0 <= cpu <= RF_MAX_CPUS;
      loop invariant \forall integer c; 0 <= c < cpu ==> regulator->core[c].throttled == 0;
      loop invariant \forall integer c; 0 <= c < cpu ==>
          regulator->core[c].in_domain == 0 || regulator->core[c].in_domain == 1;
      loop assigns cpu, regulator->core[0 .. RF_MAX_CPUS - 1];
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++) {
        struct rf_regulator_core *core = &regulator->core[cpu];
        core->reads.used = 0;
        core->reads.debt = 0;
        core->writes.used = 0;
        core->writes.debt = 0;
        core->in_domain = rf_cpu_set_contains(cpus, cpu) ? 1 : 0;
        core->throttled = 0;
    }
    rf_regulator_update_threshold(regulator);
    return RF_REGULATOR_OK;
}

/*
 * Holds a core to the threshold, which a gang that started may have made
 * stricter. True when that throttles the core now.
 */
/*@
  requires \valid(core) && \valid_read(threshold) && \separated(core, threshold);
  requires core->throttled == 0 || core->throttled == 1;
  assigns core->reads, core->writes, core->throttled;
  ensures core->reads.used + core->reads.debt == \old(core->reads.used + core->reads.debt);
  ensures core->writes.used + core->writes.debt == \old(core->writes.used + core->writes.debt);
  ensures core->throttled == 1 <==>
      \old(core->throttled) == 1 || rf_regulator_out_of_budget(core, threshold);
  ensures core->throttled == 0 || core->throttled == 1;
  ensures \result <==> \old(core->throttled) == 0 && core->throttled == 1;
*/
static inline bool rf_regulator_hold(struct rf_regulator_core *core,
                                     const struct rf_regulator_budget *threshold) {
    rf_regulator_pay(&core->reads, threshold->reads);
    rf_regulator_pay(&core->writes, threshold->writes);
    if (core->throttled || !rf_regulator_exhausted(core, threshold))
        return false;
    core->throttled = 1;
    return true;
}

/*
 * A gang with this tolerance runs in `partition` from now on, in place of the one
 * that ran there, if any. `throttled` receives the cores that this throttles.
 */
/*@
  requires \valid(regulator) && \valid_read(tolerance) && \valid(throttled);
  requires \separated(regulator, tolerance, throttled);
  requires rf_regulator_sound(regulator);
  behavior refused:
    assumes partition >= RF_MAX_PARTITIONS;
    assigns *throttled;
    ensures \result == RF_REGULATOR_BAD_PARTITION;
    ensures rf_cpu_set_empty(throttled);
  behavior running:
    assumes partition < RF_MAX_PARTITIONS;
    assigns *throttled, regulator->threshold, regulator->regulated,
        regulator->gang_runs[partition], regulator->tolerance[partition],
        regulator->core[0 .. RF_MAX_CPUS - 1].reads,
        regulator->core[0 .. RF_MAX_CPUS - 1].writes,
        regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
    ensures \result == RF_REGULATOR_OK;
    ensures rf_regulator_sound(regulator);
    ensures regulator->regulated == 1;
    ensures regulator->gang_runs[partition] == 1;
    ensures never_unthrottles: \forall integer c; 0 <= c < RF_MAX_CPUS ==>
        \old(regulator->core[c].throttled) == 1 ==> regulator->core[c].throttled == 1;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_regulator_status
rf_regulator_gang_running(struct rf_regulator *regulator, uint32_t partition,
                          const struct rf_regulator_budget *tolerance,
                          struct rf_cpu_set *throttled) {
    rf_cpu_set_clear(throttled);
    if (partition >= RF_MAX_PARTITIONS)
        return RF_REGULATOR_BAD_PARTITION;
    regulator->gang_runs[partition] = 1;
    regulator->tolerance[partition].reads = tolerance->reads;
    regulator->tolerance[partition].writes = tolerance->writes;
    rf_regulator_update_threshold(regulator);
    /*@
      loop invariant 0 <= cpu <= RF_MAX_CPUS;
      loop invariant rf_regulator_domain_flags(regulator);
      loop invariant rf_regulator_throttled_flags(regulator);
      loop invariant rf_regulator_throttles_domain(regulator);
      loop invariant regulator->regulated == 1;
      loop invariant \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          \at(regulator->core[c].throttled, Pre) == 1 ==> regulator->core[c].throttled == 1;
      loop assigns cpu, *throttled, regulator->core[0 .. RF_MAX_CPUS - 1].reads,
          regulator->core[0 .. RF_MAX_CPUS - 1].writes,
          regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++) {
        struct rf_regulator_core *core = &regulator->core[cpu];
        if (!core->in_domain)
            continue;
        if (rf_regulator_hold(core, &regulator->threshold))
            rf_cpu_set_insert(throttled, cpu);
    }
    return RF_REGULATOR_OK;
}

/*
 * No gang runs in `partition` any more. `unthrottled` receives the cores that may
 * run again: none while a gang runs in another partition.
 */
/*@
  requires \valid(regulator) && \valid(unthrottled) && \separated(regulator, unthrottled);
  requires rf_regulator_sound(regulator);
  behavior refused:
    assumes partition >= RF_MAX_PARTITIONS;
    assigns *unthrottled;
    ensures \result == RF_REGULATOR_BAD_PARTITION;
    ensures rf_cpu_set_empty(unthrottled);
  behavior stopped:
    assumes partition < RF_MAX_PARTITIONS;
    assigns *unthrottled, regulator->threshold, regulator->regulated,
        regulator->gang_runs[partition], regulator->tolerance[partition],
        regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
    ensures \result == RF_REGULATOR_OK;
    ensures rf_regulator_sound(regulator);
    ensures regulator->gang_runs[partition] == 0;
    ensures others_keep: rf_regulator_any_gang(regulator) ==>
        \forall integer c; 0 <= c < RF_MAX_CPUS ==>
            regulator->core[c].throttled == \old(regulator->core[c].throttled);
    ensures none_keeps: !rf_regulator_any_gang(regulator) ==>
        \forall integer c; 0 <= c < RF_MAX_CPUS ==> regulator->core[c].throttled == 0;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_regulator_status rf_regulator_gang_stopped(struct rf_regulator *regulator,
                                                                 uint32_t partition,
                                                                 struct rf_cpu_set *unthrottled) {
    rf_cpu_set_clear(unthrottled);
    if (partition >= RF_MAX_PARTITIONS)
        return RF_REGULATOR_BAD_PARTITION;
    regulator->gang_runs[partition] = 0;
    regulator->tolerance[partition].reads = RF_REGULATOR_UNLIMITED;
    regulator->tolerance[partition].writes = RF_REGULATOR_UNLIMITED;
    rf_regulator_update_threshold(regulator);
    if (regulator->regulated)
        return RF_REGULATOR_OK;
    /*@
      loop invariant 0 <= cpu <= RF_MAX_CPUS;
      loop invariant \forall integer c; 0 <= c < cpu ==> regulator->core[c].throttled == 0;
      loop invariant \forall integer c; cpu <= c < RF_MAX_CPUS ==>
          regulator->core[c].throttled == \at(regulator->core[c].throttled, Pre);
      loop assigns cpu, *unthrottled, regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++) {
        struct rf_regulator_core *core = &regulator->core[cpu];
        if (core->throttled) {
            core->throttled = 0;
            rf_cpu_set_insert(unthrottled, cpu);
        }
    }
    return RF_REGULATOR_OK;
}

/* Counts events of a core under a threshold. True while that core is throttled. */
/*@
  requires \valid(core) && \valid_read(threshold) && \separated(core, threshold);
  requires core->throttled == 0 || core->throttled == 1;
  assigns core->reads, core->writes, core->throttled;
  ensures reads_counted: core->reads.used + core->reads.debt ==
      \old(core->reads.used) +
          \min(\old(core->reads.debt) + reads, RF_REGULATOR_MAX_DEBT);
  ensures writes_counted: core->writes.used + core->writes.debt ==
      \old(core->writes.used) +
          \min(\old(core->writes.debt) + writes, RF_REGULATOR_MAX_DEBT);
  ensures reads_within: core->reads.used <= \max(\old(core->reads.used), threshold->reads);
  ensures writes_within: core->writes.used <= \max(\old(core->writes.used), threshold->writes);
  ensures core->throttled == 1 <==>
      \old(core->throttled) == 1 || rf_regulator_out_of_budget(core, threshold);
  ensures core->throttled == 0 || core->throttled == 1;
  ensures \result <==> core->throttled == 1;
*/
static inline bool rf_regulator_count(struct rf_regulator_core *core, uint64_t reads,
                                      uint64_t writes,
                                      const struct rf_regulator_budget *threshold) {
    rf_regulator_owe(&core->reads, reads, threshold->reads);
    rf_regulator_owe(&core->writes, writes, threshold->writes);
    if (rf_regulator_exhausted(core, threshold))
        core->throttled = 1;
    return core->throttled;
}

/*
 * Counts what best-effort work on `cpu` has used since the last call. Answers
 * RF_REGULATOR_THROTTLE while the core is throttled, by this charge or before it.
 */
/*@
  requires \valid(regulator) && rf_regulator_sound(regulator);
  assigns regulator->core[0 .. RF_MAX_CPUS - 1];
  behavior refused:
    assumes cpu >= RF_MAX_CPUS || regulator->core[cpu].in_domain == 0;
    assigns \nothing;
    ensures \result == RF_REGULATOR_BAD_CPU;
  behavior free:
    assumes cpu < RF_MAX_CPUS && regulator->core[cpu].in_domain != 0;
    assumes regulator->regulated == 0;
    assigns \nothing;
    ensures \result == RF_REGULATOR_OK;
  behavior counted:
    assumes cpu < RF_MAX_CPUS && regulator->core[cpu].in_domain != 0;
    assumes regulator->regulated != 0;
    assigns regulator->core[cpu].reads, regulator->core[cpu].writes,
        regulator->core[cpu].throttled;
    ensures \old(regulator->core[cpu].throttled) == 1 ==> regulator->core[cpu].throttled == 1;
    ensures \result == RF_REGULATOR_OK || \result == RF_REGULATOR_THROTTLE;
    ensures \result == RF_REGULATOR_THROTTLE <==> regulator->core[cpu].throttled == 1;
  disjoint behaviors;
*/
static inline enum rf_regulator_status
rf_regulator_charge(struct rf_regulator *regulator, uint32_t cpu, uint64_t reads, uint64_t writes) {
    if (cpu >= RF_MAX_CPUS || !regulator->core[cpu].in_domain)
        return RF_REGULATOR_BAD_CPU;
    if (!regulator->regulated)
        return RF_REGULATOR_OK;
    if (rf_regulator_count(&regulator->core[cpu], reads, writes, &regulator->threshold))
        return RF_REGULATOR_THROTTLE;
    return RF_REGULATOR_OK;
}

/* Nothing of the new period's budget is spent; debt stays owed. */
/*@
  requires \valid(core);
  assigns core->reads, core->writes;
  ensures core->reads.used == 0 && core->reads.debt == \old(core->reads.debt);
  ensures core->writes.used == 0 && core->writes.debt == \old(core->writes.debt);
*/
static inline void rf_regulator_unspend(struct rf_regulator_core *core) {
    core->reads.used = 0;
    core->writes.used = 0;
}

/* Gives a core a new budget, less its debt. True when that un-throttles it. */
/*@
  requires \valid(core) && \valid_read(threshold) && \separated(core, threshold);
  requires core->throttled == 0 || core->throttled == 1;
  assigns core->reads, core->writes, core->throttled;
  ensures core->reads.used + core->reads.debt == \old(core->reads.debt);
  ensures core->writes.used + core->writes.debt == \old(core->writes.debt);
  ensures core->reads.used <= threshold->reads && core->writes.used <= threshold->writes;
  ensures core->throttled == 1 <==>
      \old(core->throttled) == 1 && rf_regulator_out_of_budget(core, threshold);
  ensures core->throttled == 0 || core->throttled == 1;
  ensures \result <==> \old(core->throttled) == 1 && core->throttled == 0;
*/
static inline bool rf_regulator_renew(struct rf_regulator_core *core,
                                      const struct rf_regulator_budget *threshold) {
    rf_regulator_unspend(core);
    rf_regulator_pay(&core->reads, threshold->reads);
    rf_regulator_pay(&core->writes, threshold->writes);
    if (!core->throttled || rf_regulator_exhausted(core, threshold))
        return false;
    core->throttled = 0;
    return true;
}

/* A period begins. `unthrottled` receives the cores that may run again. */
/*@
  requires \valid(regulator) && \valid(unthrottled) && \separated(regulator, unthrottled);
  requires rf_regulator_sound(regulator);
  assigns *unthrottled, regulator->core[0 .. RF_MAX_CPUS - 1].reads,
      regulator->core[0 .. RF_MAX_CPUS - 1].writes,
      regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
  ensures rf_regulator_sound(regulator);
  ensures never_throttles: \forall integer c; 0 <= c < RF_MAX_CPUS ==>
      \old(regulator->core[c].throttled) == 0 ==> regulator->core[c].throttled == 0;
*/
static inline void rf_regulator_refill(struct rf_regulator *regulator,
                                       struct rf_cpu_set *unthrottled) {
    rf_cpu_set_clear(unthrottled);
    /*@
      loop invariant 0 <= cpu <= RF_MAX_CPUS;
      loop invariant rf_regulator_domain_flags(regulator);
      loop invariant rf_regulator_throttled_flags(regulator);
      loop invariant rf_regulator_throttles_domain(regulator);
      loop invariant rf_regulator_rest_throttles_none(regulator);
      loop invariant \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          \at(regulator->core[c].throttled, Pre) == 0 ==> regulator->core[c].throttled == 0;
      loop assigns cpu, *unthrottled, regulator->core[0 .. RF_MAX_CPUS - 1].reads,
          regulator->core[0 .. RF_MAX_CPUS - 1].writes,
          regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++) {
        struct rf_regulator_core *core = &regulator->core[cpu];
        if (!core->in_domain)
            continue;
        if (!regulator->regulated)
            rf_regulator_unspend(core);
        else if (rf_regulator_renew(core, &regulator->threshold))
            rf_cpu_set_insert(unthrottled, cpu);
    }
}

/* Whether `cpu` is a throttled core of the domain. */
/*@
  requires \valid_read(regulator);
  assigns \nothing;
  ensures \result <==> cpu < RF_MAX_CPUS && regulator->core[cpu].throttled != 0;
*/
static inline bool rf_regulator_is_throttled(const struct rf_regulator *regulator, uint32_t cpu) {
    return cpu < RF_MAX_CPUS && regulator->core[cpu].throttled;
}

/*
 * What `cpu` may still use in this period, for arming its counters: unlimited in
 * the directions that are not limited now, zero while it is throttled.
 */
/*@
  requires \valid_read(regulator) && \valid(remaining) && \separated(regulator, remaining);
  assigns *remaining;
  behavior refused:
    assumes cpu >= RF_MAX_CPUS || regulator->core[cpu].in_domain == 0;
    assigns \nothing;
    ensures \result == RF_REGULATOR_BAD_CPU;
  behavior throttled:
    assumes cpu < RF_MAX_CPUS && regulator->core[cpu].in_domain != 0;
    assumes regulator->core[cpu].throttled != 0;
    assigns *remaining;
    ensures \result == RF_REGULATOR_OK;
    ensures remaining->reads == 0 && remaining->writes == 0;
  behavior runs:
    assumes cpu < RF_MAX_CPUS && regulator->core[cpu].in_domain != 0;
    assumes regulator->core[cpu].throttled == 0;
    assigns *remaining;
    ensures \result == RF_REGULATOR_OK;
    ensures regulator->threshold.reads == RF_REGULATOR_UNLIMITED ==>
        remaining->reads == RF_REGULATOR_UNLIMITED;
    ensures regulator->threshold.reads != RF_REGULATOR_UNLIMITED ==> remaining->reads ==
        \max(0, regulator->threshold.reads - regulator->core[cpu].reads.used);
    ensures regulator->threshold.writes == RF_REGULATOR_UNLIMITED ==>
        remaining->writes == RF_REGULATOR_UNLIMITED;
    ensures regulator->threshold.writes != RF_REGULATOR_UNLIMITED ==> remaining->writes ==
        \max(0, regulator->threshold.writes - regulator->core[cpu].writes.used);
  disjoint behaviors;
*/
static inline enum rf_regulator_status
rf_regulator_remaining(const struct rf_regulator *regulator, uint32_t cpu,
                       struct rf_regulator_budget *remaining) {
    if (cpu >= RF_MAX_CPUS || !regulator->core[cpu].in_domain)
        return RF_REGULATOR_BAD_CPU;
    const struct rf_regulator_core *core = &regulator->core[cpu];
    if (core->throttled) {
        remaining->reads = 0;
        remaining->writes = 0;
    } else {
        remaining->reads = rf_regulator_left(&core->reads, regulator->threshold.reads);
        remaining->writes = rf_regulator_left(&core->writes, regulator->threshold.writes);
    }
    return RF_REGULATOR_OK;
}

#endif
