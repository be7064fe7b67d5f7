/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Bandwidth regulator of a domain: the cores that share a resource, and the gangs
 * that they have to spare. The budget of one core is budget.h's matter.
 *
 * Sources: RT-Gang (RTAS 2019) III-D and IV-F: while a gang runs, every other
 * core is held to the traffic that the gang tolerates, per period. RT-Gang++ 6.2
 * and 6.4: several partitions run gangs at the same time and share one resource
 * (memory, or the last-level cache).
 *
 * Rules
 *  1. A domain is a set of cores that share one resource. In each of 64
 *     partitions at most one gang runs, with its own tolerance.
 *  2. The threshold of the domain is the strictest tolerance of the gangs that
 *     run now, for reads and for writes apart. With no gang, nothing is limited.
 *  3. A stricter gang that starts in mid-period throttles at once the cores that
 *     have already used its tolerance.
 *  4. A core is un-throttled by the refill, or because no gang runs at all;
 *     never because one gang of several ended, nor by a looser tolerance.
 *  5. While no gang runs use is free: it is not counted. What was used in this
 *     period while a gang ran stays counted, and debt stays owed. Otherwise a
 *     gang that comes and goes would hand out a whole budget and forgive one
 *     overshoot each time; and idle time has no budget that could pay.
 *
 * The caller serialises all calls for one domain, charges what a core has used
 * before it tells of a refill, a started or a stopped gang, stops the cores that
 * are reported throttled, and charges best-effort use only.
 *
 * Known gaps
 *  - Each time the first gang starts again, a throttled core can be caught with
 *    one more quantum under way. It becomes debt, but in that period the use is
 *    budget plus one quantum for every such start.
 *  - Traffic of a gang itself is not limited, nor is that of devices.
 *  - The gaps of a core's budget, see budget.h.
 *
 * Proved for every state and input: no run-time error; rules 2 to 5 for each call, with
 * what it leaves used and owed on each core; that a set handed back names exactly the
 * cores that the call throttled or un-throttled; and rf_regulator_sound, below, from
 * init on, so that while a gang runs each core of the domain either is throttled or has,
 * in every direction that is limited, budget left and no debt. What adds up over several
 * periods is not proved but explored in every state of small domains and tested at
 * random (crates/ringfence-policy/tests/regulator/).
 */
#ifndef RINGFENCE_REGULATOR_H
#define RINGFENCE_REGULATOR_H

#include "budget.h"
#include "cpu_set.h"

enum rf_regulator_status {
    RF_REGULATOR_OK = 0,
    /* The core is out of budget: stop its best-effort work. */
    RF_REGULATOR_THROTTLE,
    /* Errors; the state is as before. */
    RF_REGULATOR_BAD_CPU,
    RF_REGULATOR_BAD_PARTITION,
    RF_REGULATOR_EMPTY_DOMAIN,
};

struct rf_regulator {
    /* Strictest tolerance of the gangs that run; unlimited when none runs. */
    struct rf_budget threshold;
    /* Of the gang that runs; unlimited where none runs. */
    struct rf_budget tolerance[RF_MAX_PARTITIONS];
    struct rf_budget_core core[RF_MAX_CPUS];
    /* 1 for the partitions in which a gang runs, else 0. */
    uint32_t gang_runs[RF_MAX_PARTITIONS];
    /* 1 while a gang runs in any partition, else 0. */
    uint32_t regulated;
};

/*@
  // The strictest tolerance of the running gangs is no more than each and equal to one.
  predicate rf_regulator_reads_within_all{L}(struct rf_regulator *r) =
      \forall integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0 ==>
          r->threshold.reads <= r->tolerance[p].reads;
  predicate rf_regulator_reads_of_one{L}(struct rf_regulator *r) =
      r->threshold.reads == RF_BUDGET_UNLIMITED ||
          \exists integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0 &&
              r->threshold.reads == r->tolerance[p].reads;

  predicate rf_regulator_writes_within_all{L}(struct rf_regulator *r) =
      \forall integer p; 0 <= p < RF_MAX_PARTITIONS && r->gang_runs[p] != 0 ==>
          r->threshold.writes <= r->tolerance[p].writes;
  predicate rf_regulator_writes_of_one{L}(struct rf_regulator *r) =
      r->threshold.writes == RF_BUDGET_UNLIMITED ||
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

  predicate rf_regulator_strictest{L}(struct rf_regulator *r) =
      (r->regulated == 0 || r->regulated == 1) &&
      (r->regulated == 1 <==> rf_regulator_any_gang(r)) &&
      rf_regulator_reads_within_all(r) && rf_regulator_reads_of_one(r) &&
      rf_regulator_writes_within_all(r) && rf_regulator_writes_of_one(r);

  predicate rf_regulator_runs_within{L}(struct rf_regulator *r) =
      r->regulated == 1 ==>
          \forall integer c; 0 <= c < RF_MAX_CPUS ==>
              r->core[c].in_domain == 1 && r->core[c].throttled == 0 ==>
                  rf_budget_within(&r->core[c], &r->threshold);

  // Holds from init on, whatever is called in whatever order: a core is throttled only
  // in the domain and only while a gang runs, the threshold is the strictest tolerance,
  // and while a gang runs every core of the domain that runs is within its budget.
  predicate rf_regulator_sound{L}(struct rf_regulator *r) =
      rf_regulator_domain_flags(r) && rf_regulator_throttled_flags(r) &&
      rf_regulator_throttles_domain(r) && rf_regulator_rest_throttles_none(r) &&
      rf_regulator_strictest(r) && rf_regulator_runs_within(r);

  predicate rf_regulator_cores_kept{From, To}(struct rf_regulator *r, integer first) =
      \at(\forall integer c; first <= c < RF_MAX_CPUS ==>
          rf_budget_core_kept{From, To}(&r->core[c]), To);

  predicate rf_regulator_others_kept{From, To}(struct rf_regulator *r, integer cpu) =
      \at(\forall integer c; 0 <= c < RF_MAX_CPUS && c != cpu ==>
          rf_budget_core_kept{From, To}(&r->core[c]), To);

  // The cores of the domain below `end` are held to the threshold.
  predicate rf_regulator_held{From, To}(struct rf_regulator *r, integer end) =
      \at(\forall integer c; 0 <= c < end && r->core[c].in_domain == 1 ==>
          rf_budget_core_held{From, To}(&r->core[c], &r->threshold), To);

  // The cores of the domain below `end` begin a period, which without a gang pays no debt.
  predicate rf_regulator_refilled{From, To}(struct rf_regulator *r, integer end) =
      \at(r->regulated == 1 ==>
          \forall integer c; 0 <= c < end && r->core[c].in_domain == 1 ==>
              rf_budget_core_refilled{From, To}(&r->core[c], &r->threshold), To);
  predicate rf_regulator_unspent{From, To}(struct rf_regulator *r, integer end) =
      \at(r->regulated == 0 ==>
          \forall integer c; 0 <= c < end && r->core[c].in_domain == 1 ==>
              rf_budget_core_unspent{From, To}(&r->core[c]), To);

  predicate rf_regulator_now_throttled{From, To}(struct rf_regulator *r, struct rf_cpu_set *s) =
      \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          (rf_cpu_set_has{To}(s, c) <==>
              \at(r->core[c].throttled, From) == 0 && \at(r->core[c].throttled, To) == 1);
  predicate rf_regulator_now_unthrottled{From, To}(struct rf_regulator *r, struct rf_cpu_set *s) =
      \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          (rf_cpu_set_has{To}(s, c) <==>
              \at(r->core[c].throttled, From) == 1 && \at(r->core[c].throttled, To) == 0);
*/

/* Sets threshold and regulated from the tolerances of the gangs that run. */
/*@
  requires \valid(regulator);
  assigns regulator->threshold, regulator->regulated;
  ensures rf_regulator_strictest(regulator);
*/
static inline void rf_regulator_update_threshold(struct rf_regulator *regulator) {
    uint32_t regulated = 0;
    uint64_t reads = RF_BUDGET_UNLIMITED;
    uint64_t writes = RF_BUDGET_UNLIMITED;
    /*@
      loop invariant 0 <= p <= RF_MAX_PARTITIONS;
      loop invariant regulated == 0 || regulated == 1;
      loop invariant regulated == 1 <==>
          \exists integer q; 0 <= q < p && regulator->gang_runs[q] != 0;
      loop invariant \forall integer q; 0 <= q < p && regulator->gang_runs[q] != 0 ==>
          reads <= regulator->tolerance[q].reads;
      loop invariant \forall integer q; 0 <= q < p && regulator->gang_runs[q] != 0 ==>
          writes <= regulator->tolerance[q].writes;
      loop invariant reads == RF_BUDGET_UNLIMITED ||
          \exists integer q; 0 <= q < p && regulator->gang_runs[q] != 0 &&
              reads == regulator->tolerance[q].reads;
      loop invariant writes == RF_BUDGET_UNLIMITED ||
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

/* Whether a gang runs in `partition`, and what it tolerates: unlimited if none runs. */
/*@
  requires \valid(regulator);
  requires partition < RF_MAX_PARTITIONS && (runs == 0 || runs == 1);
  assigns regulator->threshold, regulator->regulated, regulator->gang_runs[partition],
      regulator->tolerance[partition];
  ensures regulator->gang_runs[partition] == runs;
  ensures regulator->tolerance[partition].reads == reads;
  ensures regulator->tolerance[partition].writes == writes;
  ensures rf_regulator_strictest(regulator);
  ensures rf_regulator_cores_kept{Pre, Post}(regulator, 0);
  behavior stops:
    assumes runs == 0 && rf_regulator_strictest(regulator);
    ensures regulator->threshold.reads >= \old(regulator->threshold.reads);
    ensures regulator->threshold.writes >= \old(regulator->threshold.writes);
    ensures \old(regulator->regulated) == 0 ==> regulator->regulated == 0;
*/
static inline void rf_regulator_set_gang(struct rf_regulator *regulator, uint32_t partition,
                                         uint32_t runs, uint64_t reads, uint64_t writes) {
    regulator->gang_runs[partition] = runs;
    regulator->tolerance[partition].reads = reads;
    regulator->tolerance[partition].writes = writes;
    rf_regulator_update_threshold(regulator);
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
    ensures \forall integer p; 0 <= p < RF_MAX_PARTITIONS ==> regulator->gang_runs[p] == 0;
    ensures \forall integer c; 0 <= c < RF_MAX_CPUS ==>
        rf_budget_fresh(&regulator->core[c]);
    ensures \forall integer c; 0 <= c < RF_MAX_CPUS ==>
        (regulator->core[c].in_domain == 1 <==> rf_cpu_set_has{Pre}(cpus, c));
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
        regulator->tolerance[p].reads = RF_BUDGET_UNLIMITED;
        regulator->tolerance[p].writes = RF_BUDGET_UNLIMITED;
    }
    /*@
      loop invariant 0 <= cpu <= RF_MAX_CPUS;
      loop invariant \forall integer c; 0 <= c < cpu ==>
          regulator->core[c].in_domain == 0 || regulator->core[c].in_domain == 1;
      loop invariant \forall integer c; 0 <= c < cpu ==>
          rf_budget_fresh(&regulator->core[c]) &&
          (regulator->core[c].in_domain == 1 <==> rf_cpu_set_has{Pre}(cpus, c));
      loop assigns cpu, regulator->core[0 .. RF_MAX_CPUS - 1];
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++)
        rf_budget_init(&regulator->core[cpu], rf_cpu_set_contains(cpus, cpu));
    rf_regulator_update_threshold(regulator);
    return RF_REGULATOR_OK;
}

/* Holds core `cpu`, if it is of the domain, to the threshold. */
/*@
  requires \valid(regulator) && \valid(throttled) && \separated(regulator, throttled);
  requires cpu < RF_MAX_CPUS;
  requires regulator->core[cpu].throttled == 0 || regulator->core[cpu].throttled == 1;
  assigns *throttled, regulator->core[cpu].reads, regulator->core[cpu].writes,
      regulator->core[cpu].throttled;
  ensures rf_regulator_others_kept{Pre, Post}(regulator, cpu);
  ensures added: \forall integer c; 0 <= c < RF_MAX_CPUS ==>
      (rf_cpu_set_has(throttled, c) <==> \old(rf_cpu_set_has(throttled, c)) ||
          (c == cpu && \old(regulator->core[cpu].throttled) == 0 &&
           regulator->core[cpu].throttled == 1));
  ensures regulator->core[cpu].throttled == 0 || regulator->core[cpu].throttled == 1;
  behavior outside:
    assumes regulator->core[cpu].in_domain == 0;
    ensures regulator->core[cpu].throttled == \old(regulator->core[cpu].throttled);
  behavior inside:
    assumes regulator->core[cpu].in_domain != 0;
    ensures rf_budget_core_held{Pre, Post}(&regulator->core[cpu], &regulator->threshold);
*/
static inline void rf_regulator_hold(struct rf_regulator *regulator, uint32_t cpu,
                                     struct rf_cpu_set *throttled) {
    struct rf_budget_core *core = &regulator->core[cpu];
    if (!core->in_domain)
        return;
    if (rf_budget_hold(core, &regulator->threshold))
        rf_cpu_set_insert(throttled, cpu);
}

/* Holds all cores of the domain to the threshold. `throttled` is empty before. */
/*@
  requires \valid(regulator) && \valid(throttled) && \separated(regulator, throttled);
  requires \forall integer c; 0 <= c < RF_MAX_CPUS ==> !rf_cpu_set_has(throttled, c);
  requires rf_regulator_domain_flags(regulator) && rf_regulator_throttled_flags(regulator) &&
           rf_regulator_throttles_domain(regulator);
  assigns *throttled, regulator->core[0 .. RF_MAX_CPUS - 1].reads,
      regulator->core[0 .. RF_MAX_CPUS - 1].writes,
      regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
  ensures rf_regulator_throttled_flags(regulator) && rf_regulator_throttles_domain(regulator);
  ensures rf_regulator_held{Pre, Post}(regulator, RF_MAX_CPUS);
  ensures rf_regulator_now_throttled{Pre, Post}(regulator, throttled);
  ensures \forall integer c; 0 <= c < RF_MAX_CPUS ==>
      \old(regulator->core[c].throttled) == 1 ==> regulator->core[c].throttled == 1;
*/
static inline void rf_regulator_hold_all(struct rf_regulator *regulator,
                                         struct rf_cpu_set *throttled) {
    /*@
      loop invariant 0 <= cpu <= RF_MAX_CPUS;
      loop invariant rf_regulator_domain_flags(regulator);
      loop invariant rf_regulator_throttled_flags(regulator);
      loop invariant rf_regulator_throttles_domain(regulator);
      loop invariant \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          \at(regulator->core[c].throttled, Pre) == 1 ==> regulator->core[c].throttled == 1;
      loop invariant rf_regulator_cores_kept{Pre, Here}(regulator, cpu);
      loop invariant rf_regulator_held{Pre, Here}(regulator, cpu);
      loop invariant rf_regulator_now_throttled{Pre, Here}(regulator, throttled);
      loop assigns cpu, *throttled, regulator->core[0 .. RF_MAX_CPUS - 1].reads,
          regulator->core[0 .. RF_MAX_CPUS - 1].writes,
          regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++) {
        rf_regulator_hold(regulator, cpu, throttled);
        /*@ assert rf_regulator_held{Pre, Here}(regulator, cpu); */
        /*@ assert rf_regulator_held{Pre, Here}(regulator, cpu + 1); */
    }
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
    ensures regulator->tolerance[partition].reads == tolerance->reads;
    ensures regulator->tolerance[partition].writes == tolerance->writes;
    ensures rf_regulator_held{Pre, Post}(regulator, RF_MAX_CPUS);
    ensures rf_regulator_now_throttled{Pre, Post}(regulator, throttled);
    ensures never_unthrottles: \forall integer c; 0 <= c < RF_MAX_CPUS ==>
        \old(regulator->core[c].throttled) == 1 ==> regulator->core[c].throttled == 1;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_regulator_status rf_regulator_gang_running(struct rf_regulator *regulator,
                                                                 uint32_t partition,
                                                                 const struct rf_budget *tolerance,
                                                                 struct rf_cpu_set *throttled) {
    rf_cpu_set_clear(throttled);
    if (partition >= RF_MAX_PARTITIONS)
        return RF_REGULATOR_BAD_PARTITION;
    rf_regulator_set_gang(regulator, partition, 1, tolerance->reads, tolerance->writes);
    /*@ assert rf_regulator_cores_kept{Pre, Here}(regulator, 0); */
    rf_regulator_hold_all(regulator, throttled);
    /*@ assert rf_regulator_runs_within(regulator); */
    /*@ assert rf_regulator_strictest(regulator); */
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
    ensures rf_regulator_now_unthrottled{Pre, Post}(regulator, unthrottled);
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
    /*@ assert rf_regulator_cores_kept{Pre, Here}(regulator, 0); */
    /*@ assert rf_regulator_strictest(regulator); */
    rf_regulator_set_gang(regulator, partition, 0, RF_BUDGET_UNLIMITED, RF_BUDGET_UNLIMITED);
    /*@ assert rf_regulator_cores_kept{Pre, Here}(regulator, 0); */
    /*@ assert rf_regulator_runs_within(regulator); */
    if (regulator->regulated)
        return RF_REGULATOR_OK;
    /*@
      loop invariant 0 <= cpu <= RF_MAX_CPUS;
      loop invariant \forall integer c; 0 <= c < cpu ==> regulator->core[c].throttled == 0;
      loop invariant \forall integer c; cpu <= c < RF_MAX_CPUS ==>
          regulator->core[c].throttled == \at(regulator->core[c].throttled, Pre);
      loop invariant rf_regulator_now_unthrottled{Pre, Here}(regulator, unthrottled);
      loop assigns cpu, *unthrottled, regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++) {
        struct rf_budget_core *core = &regulator->core[cpu];
        if (core->throttled) {
            core->throttled = 0;
            rf_cpu_set_insert(unthrottled, cpu);
        }
    }
    return RF_REGULATOR_OK;
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
    ensures rf_regulator_sound(regulator);
    ensures rf_budget_core_charged{Pre, Post}(&regulator->core[cpu], reads, writes,
                                              &regulator->threshold);
    ensures \old(regulator->core[cpu].throttled) == 1 ==> regulator->core[cpu].throttled == 1;
    ensures \result == RF_REGULATOR_OK || \result == RF_REGULATOR_THROTTLE;
    ensures \result == RF_REGULATOR_THROTTLE <==> regulator->core[cpu].throttled == 1;
  disjoint behaviors;
*/
static inline enum rf_regulator_status
rf_regulator_charge(struct rf_regulator *regulator, uint32_t cpu, uint64_t reads, uint64_t writes) {
    if (cpu >= RF_MAX_CPUS || !regulator->core[RF_INDEX(cpu, RF_MAX_CPUS)].in_domain)
        return RF_REGULATOR_BAD_CPU;
    if (!regulator->regulated)
        return RF_REGULATOR_OK;
    bool throttled = rf_budget_charge(&regulator->core[RF_INDEX(cpu, RF_MAX_CPUS)], reads, writes,
                                      &regulator->threshold);
    /*@ assert rf_regulator_strictest(regulator); */
    /*@ assert \forall integer c; 0 <= c < RF_MAX_CPUS && c != cpu ==>
          regulator->core[c] == \at(regulator->core[c], Pre); */
    /*@ assert rf_regulator_runs_within(regulator); */
    return throttled ? RF_REGULATOR_THROTTLE : RF_REGULATOR_OK;
}

/* Gives core `cpu`, if it is of the domain, its budget of a new period. */
/*@
  requires \valid(regulator) && \valid(unthrottled) && \separated(regulator, unthrottled);
  requires cpu < RF_MAX_CPUS;
  requires regulator->core[cpu].throttled == 0 || regulator->core[cpu].throttled == 1;
  assigns *unthrottled, regulator->core[cpu].reads, regulator->core[cpu].writes,
      regulator->core[cpu].throttled;
  ensures rf_regulator_others_kept{Pre, Post}(regulator, cpu);
  ensures added: \forall integer c; 0 <= c < RF_MAX_CPUS ==>
      (rf_cpu_set_has(unthrottled, c) <==> \old(rf_cpu_set_has(unthrottled, c)) ||
          (c == cpu && \old(regulator->core[cpu].throttled) == 1 &&
           regulator->core[cpu].throttled == 0));
  ensures regulator->core[cpu].throttled == 0 || regulator->core[cpu].throttled == 1;
  behavior outside:
    assumes regulator->core[cpu].in_domain == 0;
    ensures regulator->core[cpu].throttled == \old(regulator->core[cpu].throttled);
  behavior rest:
    assumes regulator->core[cpu].in_domain != 0 && regulator->regulated == 0;
    ensures rf_budget_core_unspent{Pre, Post}(&regulator->core[cpu]);
  behavior regulated:
    assumes regulator->core[cpu].in_domain != 0 && regulator->regulated != 0;
    ensures rf_budget_core_refilled{Pre, Post}(&regulator->core[cpu], &regulator->threshold);
*/
static inline void rf_regulator_refill_core(struct rf_regulator *regulator, uint32_t cpu,
                                            struct rf_cpu_set *unthrottled) {
    struct rf_budget_core *core = &regulator->core[cpu];
    if (!core->in_domain)
        return;
    if (!regulator->regulated)
        rf_budget_unspend(core);
    else if (rf_budget_refill(core, &regulator->threshold))
        rf_cpu_set_insert(unthrottled, cpu);
}

/* A period begins. `unthrottled` receives the cores that may run again. */
/*@
  requires \valid(regulator) && \valid(unthrottled) && \separated(regulator, unthrottled);
  requires rf_regulator_sound(regulator);
  assigns *unthrottled, regulator->core[0 .. RF_MAX_CPUS - 1].reads,
      regulator->core[0 .. RF_MAX_CPUS - 1].writes,
      regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
  ensures rf_regulator_sound(regulator);
  ensures rf_regulator_refilled{Pre, Post}(regulator, RF_MAX_CPUS);
  ensures rf_regulator_unspent{Pre, Post}(regulator, RF_MAX_CPUS);
  ensures rf_regulator_now_unthrottled{Pre, Post}(regulator, unthrottled);
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
      loop invariant rf_regulator_cores_kept{Pre, Here}(regulator, cpu);
      loop invariant rf_regulator_refilled{Pre, Here}(regulator, cpu);
      loop invariant rf_regulator_unspent{Pre, Here}(regulator, cpu);
      loop invariant rf_regulator_now_unthrottled{Pre, Here}(regulator, unthrottled);
      loop assigns cpu, *unthrottled, regulator->core[0 .. RF_MAX_CPUS - 1].reads,
          regulator->core[0 .. RF_MAX_CPUS - 1].writes,
          regulator->core[0 .. RF_MAX_CPUS - 1].throttled;
      loop variant RF_MAX_CPUS - cpu;
    */
    for (uint32_t cpu = 0; cpu < RF_MAX_CPUS; cpu++) {
        rf_regulator_refill_core(regulator, cpu, unthrottled);
        /*@ assert rf_regulator_refilled{Pre, Here}(regulator, cpu); */
        /*@ assert rf_regulator_refilled{Pre, Here}(regulator, cpu + 1); */
        /*@ assert rf_regulator_unspent{Pre, Here}(regulator, cpu); */
        /*@ assert rf_regulator_unspent{Pre, Here}(regulator, cpu + 1); */
    }
    /*@ assert rf_regulator_runs_within(regulator); */
    /*@ assert rf_regulator_strictest(regulator); */
}

/* Whether `cpu` is a throttled core of the domain. */
/*@
  requires \valid_read(regulator);
  assigns \nothing;
  ensures \result <==> cpu < RF_MAX_CPUS && regulator->core[cpu].throttled != 0;
*/
static inline bool rf_regulator_is_throttled(const struct rf_regulator *regulator, uint32_t cpu) {
    return cpu < RF_MAX_CPUS && regulator->core[RF_INDEX(cpu, RF_MAX_CPUS)].throttled;
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
    ensures regulator->threshold.reads == RF_BUDGET_UNLIMITED ==>
        remaining->reads == RF_BUDGET_UNLIMITED;
    ensures regulator->threshold.reads != RF_BUDGET_UNLIMITED ==> remaining->reads ==
        \max(0, regulator->threshold.reads - regulator->core[cpu].reads.used);
    ensures regulator->threshold.writes == RF_BUDGET_UNLIMITED ==>
        remaining->writes == RF_BUDGET_UNLIMITED;
    ensures regulator->threshold.writes != RF_BUDGET_UNLIMITED ==> remaining->writes ==
        \max(0, regulator->threshold.writes - regulator->core[cpu].writes.used);
  disjoint behaviors;
*/
static inline enum rf_regulator_status rf_regulator_remaining(const struct rf_regulator *regulator,
                                                              uint32_t cpu,
                                                              struct rf_budget *remaining) {
    if (cpu >= RF_MAX_CPUS || !regulator->core[cpu].in_domain)
        return RF_REGULATOR_BAD_CPU;
    const struct rf_budget_core *core = &regulator->core[cpu];
    if (core->throttled) {
        remaining->reads = 0;
        remaining->writes = 0;
    } else {
        remaining->reads = rf_budget_left(&core->reads, regulator->threshold.reads);
        remaining->writes = rf_budget_left(&core->writes, regulator->threshold.writes);
    }
    return RF_REGULATOR_OK;
}

#endif
