/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Gang scheduling of one partition of CPUs, one gang at a time.
 *
 * Source: RT-Gang (RTAS 2019), sections III-B and III-C for the rules, IV and
 * algorithms 1 to 4 for the mechanism. All threads of a priority are one gang;
 * tasks that share a priority form a virtual gang. The active gang is the highest
 * priority of which a thread is runnable, on whatever CPU.
 *
 * Invariant: all CPUs that hold the gang lock hold it for the same priority.
 * A thread runs only on a CPU that holds the lock, so no two gangs ever run at a
 * time, not even while one takes over from the other.
 *
 * State machine of a CPU (`locked`, `running` and `waiting` are sets of CPUs)
 *
 *                decide: RUN              running
 *      free  ------------------> locked ----------> locked and running
 *       ^                          |                       |
 *       +--------------------------+-----------------------+
 *                               stopping
 *
 *   decide answers RUN if and only if the priority is the active one, no CPU
 *   holds the lock for another priority, and the share limit is not used up.
 *   From RUN on the CPU counts as occupied, before its thread has started: the
 *   time between decision and start is no gap through which a second gang gets in.
 *   Otherwise it answers BLOCK and the CPU is `waiting` until it is told to
 *   decide again: blocked members wait even if CPUs are idle.
 *
 * Who is told to reschedule, that is, to decide again
 *   a higher gang becomes runnable    all CPUs locked for a lower one: pre-emption of all
 *                                     members, on whatever CPUs the higher gang's threads are
 *   the last locked CPU stops         all waiting CPUs: hand-over
 *   the active gang goes quiescent    all waiting CPUs
 *   the share limit is used up        all locked CPUs
 *   the window of the limit ends      all waiting CPUs
 *   While the limit is used up nobody may run, so waiting CPUs keep waiting.
 *
 * The caller
 *  - serialises all calls for one partition and gives CPUs to one partition only;
 *  - reports every thread from runnable to quiescent, running or not, and lets the
 *    CPU on which it becomes runnable decide;
 *  - follows every RUN by running, then stopping; or by stopping alone if it starts
 *    nothing. Stops what a CPU runs before it asks for another priority there;
 *  - on a reschedule decides again, and stops what runs there unless that is RUN;
 *  - calls timer no earlier than rf_gang_next_timer_ns says, which it asks for again
 *    after running, stopping and timer.
 *  The policy counts CPUs and not threads: a locked CPU may go on to another thread
 *  of the same priority without a report.
 *  Times are of one clock, in nanoseconds.
 *
 * Errors leave the state as it was, and reschedule nobody.
 *
 * Known gaps
 *  - Equal priority means same gang; that two tasks share one by mistake cannot be seen.
 *  - How long a hand-over takes is up to the caller: the policy waits for its stopping.
 *  - A caller that never reports stopping blocks all other gangs of the partition.
 *  - A waiting CPU whose thread has gone is told too; it finds nothing to do.
 *  - The gaps of the share limit, see share.h.
 */
#ifndef RINGFENCE_GANG_H
#define RINGFENCE_GANG_H

#include "cpu_set.h"
#include "share.h"

/* Priorities are 1 to 99, as those of SCHED_FIFO; bigger is more important. */
#define RF_GANG_MAX_PRIORITY 99U

/* Room for all of them by number. */
#define RF_GANG_PRIORITIES (RF_GANG_MAX_PRIORITY + 1)

/* No gang. */
#define RF_GANG_NO_PRIORITY 0U

/* Threads of one priority that can be runnable at a time. */
#define RF_GANG_MAX_THREADS 0xffffffffU

struct rf_gang_partition {
    struct rf_cpu_set cpus;    /* of the partition */
    struct rf_cpu_set locked;  /* told RUN, and not stopped since */
    struct rf_cpu_set running; /* locked, and a thread has started */
    struct rf_cpu_set waiting; /* told BLOCK, and neither told RUN nor to reschedule since */
    struct rf_share share;
    uint32_t runnable[RF_GANG_PRIORITIES]; /* threads; [0] stays 0 */
    uint8_t active_priority;               /* highest with a runnable thread, or none */
    uint8_t locked_priority;               /* of all locked CPUs, or none */
    uint8_t zero[6];                       /* no padding: states compare bytewise */
};

enum rf_gang_decision {
    RF_GANG_BLOCK = 0,
    RF_GANG_RUN,
};

enum rf_gang_status {
    RF_GANG_OK = 0,
    RF_GANG_NO_CPUS,          /* a partition needs a CPU */
    RF_GANG_BAD_SHARE,        /* see rf_share_settings_ok */
    RF_GANG_BAD_CPU,          /* not of the partition */
    RF_GANG_BAD_PRIORITY,     /* not 1 to 99 */
    RF_GANG_TOO_MANY_THREADS, /* more than RF_GANG_MAX_THREADS runnable */
    RF_GANG_NOT_RUNNABLE,     /* quiescent, but no thread of the priority is runnable */
    RF_GANG_ALREADY_RUNNING,  /* a second thread starts on a CPU */
    RF_GANG_NOT_ALLOWED,      /* a thread starts that was not, and is not, allowed to */
    RF_GANG_NOT_RUNNING,      /* stopping, but the CPU holds no lock */
};

/*
 * A state is valid if its counts, lock and share are. A function states which of them
 * it keeps valid; the others it does not assign.
 */
/*@
  predicate rf_gang_highest{L}(struct rf_gang_partition *p, integer priority) =
      0 <= priority <= 99 &&
      (priority > 0 ==> p->runnable[priority] > 0) &&
      (\forall integer q; priority < q <= 99 ==> p->runnable[q] == 0);

  predicate rf_gang_counts_valid{L}(struct rf_gang_partition *p) =
      p->runnable[0] == 0 && rf_gang_highest(p, p->active_priority);

  predicate rf_gang_lock_valid{L}(struct rf_gang_partition *p) =
      p->locked_priority <= 99 &&
      (p->locked_priority == 0 <==> rf_cpu_set_empty(&p->locked));

  predicate rf_gang_allowed{L}(struct rf_gang_partition *p, integer priority) =
      priority == p->active_priority &&
      (p->locked_priority == 0 || p->locked_priority == priority) &&
      p->share.exhausted_until_ns == 0;

  predicate rf_gang_holds{L}(struct rf_gang_partition *p, integer cpu, integer priority) =
      rf_cpu_set_has(&p->locked, cpu) && p->locked_priority == priority;
*/

/*@
  assigns \nothing;
  ensures \result <==> 1 <= priority <= 99;
*/
static inline bool rf_gang_is_priority(uint32_t priority) {
    return priority > RF_GANG_NO_PRIORITY && priority <= RF_GANG_MAX_PRIORITY;
}

/*@
  requires \valid_read(p);
  assigns \nothing;
  ensures \result <==> 0 <= cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu);
*/
static inline bool rf_gang_has_cpu(const struct rf_gang_partition *p, uint32_t cpu) {
    return cpu < RF_MAX_CPUS && rf_cpu_set_contains(&p->cpus, cpu);
}

/*@
  requires \valid(p);
  assigns p->runnable[0 .. 99];
  ensures \forall integer i; 0 <= i <= 99 ==> p->runnable[i] == 0;
*/
static inline void rf_gang_clear_counts(struct rf_gang_partition *p) {
    /*@
      loop invariant 0 <= i <= 100;
      loop invariant \forall integer k; 0 <= k < i ==> p->runnable[k] == 0;
      loop assigns i, p->runnable[0 .. 99];
      loop variant 100 - i;
    */
    for (uint32_t i = 0; i <= RF_GANG_MAX_PRIORITY; i++)
        p->runnable[i] = 0;
}

/* Starts a partition with nothing runnable. limit_ns and window_ns 0: no share limit. */
/*@
  requires \valid(p) && \valid_read(cpus) && \separated(p, cpus);
  assigns *p;
  behavior refused:
    assumes rf_cpu_set_empty(cpus) || !rf_share_settings(limit_ns, window_ns);
    assigns \nothing;
    ensures \result == RF_GANG_NO_CPUS || \result == RF_GANG_BAD_SHARE;
  behavior started:
    assumes !rf_cpu_set_empty(cpus) && rf_share_settings(limit_ns, window_ns);
    assigns *p;
    ensures \result == RF_GANG_OK;
    ensures rf_gang_counts_valid(p);
    ensures rf_gang_lock_valid(p);
    ensures rf_share_valid(&p->share);
    ensures p->active_priority == 0 && p->locked_priority == 0;
    ensures rf_cpu_set_empty(&p->running) && rf_cpu_set_empty(&p->waiting);
    ensures rf_cpu_set_copied{Pre, Post}(cpus, &p->cpus);
    ensures p->share.limit_ns == limit_ns && p->share.window_ns == window_ns;
    ensures p->share.window_start_ns == now_ns;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_gang_status rf_gang_init(struct rf_gang_partition *p,
                                               const struct rf_cpu_set *cpus, uint64_t limit_ns,
                                               uint64_t window_ns, uint64_t now_ns) {
    if (rf_cpu_set_is_empty(cpus))
        return RF_GANG_NO_CPUS;
    if (!rf_share_settings_ok(limit_ns, window_ns))
        return RF_GANG_BAD_SHARE;
    rf_cpu_set_copy(&p->cpus, cpus);
    rf_cpu_set_clear(&p->locked);
    rf_cpu_set_clear(&p->running);
    rf_cpu_set_clear(&p->waiting);
    rf_share_init(&p->share, limit_ns, window_ns, now_ns);
    rf_gang_clear_counts(p);
    p->active_priority = RF_GANG_NO_PRIORITY;
    p->locked_priority = RF_GANG_NO_PRIORITY;
    /*@
      loop invariant 0 <= i <= 6;
      loop assigns i, p->zero[0 .. 5];
      loop variant 6 - i;
    */
    for (uint32_t i = 0; i < sizeof(p->zero); i++)
        p->zero[i] = 0;
    return RF_GANG_OK;
}

/*@
  requires \valid_read(p);
  assigns \nothing;
  ensures \result <==> rf_gang_allowed(p, priority);
*/
static inline bool rf_gang_may_run(const struct rf_gang_partition *p, uint32_t priority) {
    return priority == p->active_priority &&
           (p->locked_priority == RF_GANG_NO_PRIORITY || p->locked_priority == priority) &&
           !rf_share_is_exhausted(&p->share);
}

/*@
  requires \valid(p) && rf_gang_lock_valid(p);
  requires cpu < RF_MAX_CPUS && 1 <= priority <= 99;
  requires p->locked_priority == 0 || p->locked_priority == priority;
  assigns p->locked, p->waiting, p->locked_priority;
  ensures rf_gang_lock_valid(p);
  ensures p->locked_priority == priority;
  ensures rf_cpu_set_added{Pre, Post}(&p->locked, cpu);
  ensures rf_cpu_set_removed{Pre, Post}(&p->waiting, cpu);
*/
static inline void rf_gang_lock(struct rf_gang_partition *p, uint32_t cpu, uint32_t priority) {
    rf_cpu_set_insert(&p->locked, cpu);
    rf_cpu_set_remove(&p->waiting, cpu);
    p->locked_priority = (uint8_t)priority;
}

/* Tells all waiting CPUs, unless nobody may run before the window of the limit ends. */
/*@
  requires \valid(p) && \valid(reschedule) && \separated(p, reschedule);
  requires rf_cpu_set_empty(reschedule);
  assigns p->waiting, *reschedule;
  behavior exhausted:
    assumes p->share.exhausted_until_ns != 0;
    ensures rf_cpu_set_empty(reschedule);
    ensures rf_cpu_set_copied{Pre, Post}(&p->waiting, &p->waiting);
  behavior told:
    assumes p->share.exhausted_until_ns == 0;
    ensures rf_cpu_set_copied{Pre, Post}(&p->waiting, reschedule);
    ensures rf_cpu_set_empty(&p->waiting);
  complete behaviors;
  disjoint behaviors;
*/
static inline void rf_gang_tell_waiting(struct rf_gang_partition *p,
                                        struct rf_cpu_set *reschedule) {
    if (rf_share_is_exhausted(&p->share))
        return;
    rf_cpu_set_copy(reschedule, &p->waiting);
    rf_cpu_set_clear(&p->waiting);
}

/* A thread of `priority` became runnable. */
/*@
  requires \valid(p) && \valid(reschedule) && \separated(p, reschedule);
  requires rf_gang_counts_valid(p) && rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->runnable[priority], p->active_priority, *reschedule;
  ensures rf_gang_counts_valid(p);
  behavior refused:
    assumes !(1 <= priority <= 99) || p->runnable[priority] == RF_GANG_MAX_THREADS;
    assigns *reschedule;
    ensures \result == RF_GANG_BAD_PRIORITY || \result == RF_GANG_TOO_MANY_THREADS;
    ensures rf_cpu_set_empty(reschedule);
  behavior counted:
    assumes 1 <= priority <= 99 && p->runnable[priority] < RF_GANG_MAX_THREADS;
    ensures \result == RF_GANG_OK;
    ensures p->runnable[priority] == \old(p->runnable[priority]) + 1;
    ensures p->active_priority == \max(priority, \old(p->active_priority));
  behavior preempts:
    assumes 1 <= priority <= 99 && p->runnable[priority] < RF_GANG_MAX_THREADS;
    assumes priority > p->active_priority && priority > p->locked_priority;
    ensures rf_cpu_set_copied{Pre, Post}(&p->locked, reschedule);
  behavior waits_its_turn:
    assumes 1 <= priority <= 99 && p->runnable[priority] < RF_GANG_MAX_THREADS;
    assumes priority <= p->active_priority || priority <= p->locked_priority;
    ensures rf_cpu_set_empty(reschedule);
  complete behaviors refused, counted;
  complete behaviors refused, preempts, waits_its_turn;
*/
static inline enum rf_gang_status rf_gang_runnable(struct rf_gang_partition *p, uint32_t priority,
                                                   struct rf_cpu_set *reschedule) {
    rf_cpu_set_clear(reschedule);
    /*@ assert rf_cpu_set_copied{Pre, Here}(&p->locked, &p->locked); */
    if (!rf_gang_is_priority(priority))
        return RF_GANG_BAD_PRIORITY;
    if (p->runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)] == RF_GANG_MAX_THREADS)
        return RF_GANG_TOO_MANY_THREADS;
    p->runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)]++;
    if (priority > p->active_priority) {
        p->active_priority = (uint8_t)priority;
        if (p->locked_priority < priority)
            rf_cpu_set_copy(reschedule, &p->locked);
    }
    return RF_GANG_OK;
}

/* The highest priority below `priority` with a runnable thread, or none. */
/*@
  requires \valid_read(p) && 1 <= priority <= 99;
  assigns \nothing;
  ensures 0 <= \result < priority;
  ensures \result > 0 ==> p->runnable[\result] > 0;
  ensures \forall integer q; \result < q < priority ==> p->runnable[q] == 0;
*/
static inline uint32_t rf_gang_highest_below(const struct rf_gang_partition *p, uint32_t priority) {
    uint32_t highest = priority - 1;
    /*@
      loop invariant 0 <= highest < priority;
      loop invariant \forall integer q; highest < q < priority ==> p->runnable[q] == 0;
      loop assigns highest;
      loop variant highest;
    */
    while (highest > 0 && p->runnable[RF_INDEX(highest, RF_GANG_PRIORITIES)] == 0)
        highest--;
    return highest;
}

/* A thread of `priority` is no longer runnable: it sleeps, ended, or left the partition. */
/*@
  requires \valid(p) && \valid(reschedule) && \separated(p, reschedule);
  requires rf_gang_counts_valid(p) && rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->runnable[priority], p->active_priority, p->waiting, *reschedule;
  ensures rf_gang_counts_valid(p);
  behavior refused:
    assumes !(1 <= priority <= 99) || p->runnable[priority] == 0;
    assigns *reschedule;
    ensures \result == RF_GANG_BAD_PRIORITY || \result == RF_GANG_NOT_RUNNABLE;
    ensures rf_cpu_set_empty(reschedule);
  behavior counted:
    assumes 1 <= priority <= 99 && p->runnable[priority] > 0;
    ensures \result == RF_GANG_OK;
    ensures p->runnable[priority] == \old(p->runnable[priority]) - 1;
  behavior hands_over:
    assumes 1 <= priority <= 99 && p->runnable[priority] == 1;
    assumes priority == p->active_priority && p->share.exhausted_until_ns == 0;
    ensures p->active_priority < priority;
    ensures rf_cpu_set_copied{Pre, Post}(&p->waiting, reschedule);
    ensures rf_cpu_set_empty(&p->waiting);
  behavior goes_on:
    assumes 1 <= priority <= 99 && p->runnable[priority] > 0;
    assumes p->runnable[priority] > 1 || priority != p->active_priority ||
            p->share.exhausted_until_ns != 0;
    ensures rf_cpu_set_empty(reschedule);
    ensures rf_cpu_set_copied{Pre, Post}(&p->waiting, &p->waiting);
  complete behaviors refused, counted;
  complete behaviors refused, hands_over, goes_on;
*/
static inline enum rf_gang_status rf_gang_quiescent(struct rf_gang_partition *p, uint32_t priority,
                                                    struct rf_cpu_set *reschedule) {
    rf_cpu_set_clear(reschedule);
    /*@ assert rf_cpu_set_copied{Pre, Here}(&p->waiting, &p->waiting); */
    if (!rf_gang_is_priority(priority))
        return RF_GANG_BAD_PRIORITY;
    if (p->runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)] == 0)
        return RF_GANG_NOT_RUNNABLE;
    p->runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)]--;
    if (priority == p->active_priority &&
        p->runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)] == 0) {
        p->active_priority = (uint8_t)rf_gang_highest_below(p, priority);
        rf_gang_tell_waiting(p, reschedule);
    }
    return RF_GANG_OK;
}

/* May `cpu` start a thread of `priority` now? */
/*@
  requires \valid(p) && \valid(decision) && \separated(p, decision);
  requires rf_gang_counts_valid(p) && rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->locked, p->waiting, p->locked_priority, *decision;
  ensures rf_gang_lock_valid(p);
  behavior refused:
    assumes !(cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu) && 1 <= priority <= 99);
    assigns *decision;
    ensures \result == RF_GANG_BAD_CPU || \result == RF_GANG_BAD_PRIORITY;
    ensures *decision == RF_GANG_BLOCK;
  behavior run:
    assumes cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu) && 1 <= priority <= 99;
    assumes rf_gang_allowed(p, priority);
    ensures \result == RF_GANG_OK && *decision == RF_GANG_RUN;
    ensures p->locked_priority == priority;
    ensures rf_cpu_set_added{Pre, Post}(&p->locked, cpu);
    ensures rf_cpu_set_removed{Pre, Post}(&p->waiting, cpu);
  behavior block:
    assumes cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu) && 1 <= priority <= 99;
    assumes !rf_gang_allowed(p, priority);
    assigns p->waiting, *decision;
    ensures \result == RF_GANG_OK && *decision == RF_GANG_BLOCK;
    ensures rf_cpu_set_added{Pre, Post}(&p->waiting, cpu);
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_gang_status rf_gang_decide(struct rf_gang_partition *p, uint32_t cpu,
                                                 uint32_t priority,
                                                 enum rf_gang_decision *decision) {
    *decision = RF_GANG_BLOCK;
    if (!rf_gang_has_cpu(p, cpu))
        return RF_GANG_BAD_CPU;
    if (!rf_gang_is_priority(priority))
        return RF_GANG_BAD_PRIORITY;
    if (rf_gang_may_run(p, priority)) {
        rf_gang_lock(p, cpu, priority);
        *decision = RF_GANG_RUN;
    } else {
        rf_cpu_set_insert(&p->waiting, cpu);
    }
    return RF_GANG_OK;
}

/*@
  requires \valid(p) && cpu < RF_MAX_CPUS && 1 <= priority <= 99;
  requires rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  requires p->locked_priority == 0 || p->locked_priority == priority;
  assigns p->locked, p->waiting, p->locked_priority, p->running, p->share;
  ensures rf_gang_lock_valid(p);
  ensures rf_share_valid(&p->share);
  ensures p->locked_priority == priority;
*/
static inline void rf_gang_start(struct rf_gang_partition *p, uint32_t cpu, uint32_t priority,
                                 uint64_t now_ns) {
    bool busy = !rf_cpu_set_is_empty(&p->running);
    rf_cpu_set_insert(&p->running, cpu);
    /*@ assert rf_cpu_set_has(&p->running, cpu); */
    /*@ assert rf_gang_lock_valid(p); */
    /*@ assert rf_share_valid(&p->share); */
    rf_share_advance(&p->share, now_ns, busy);
    /*@ assert rf_gang_lock_valid(p); */
    rf_gang_lock(p, cpu, priority);
}

/* A thread of `priority` started on `cpu`: after RUN, or if decide would answer RUN now. */
/*@
  requires \valid(p);
  requires rf_gang_counts_valid(p) && rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->locked, p->waiting, p->locked_priority, p->running, p->share;
  ensures rf_gang_lock_valid(p);
  ensures rf_share_valid(&p->share);
  behavior refused:
    assumes !(cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu) && 1 <= priority <= 99) ||
            rf_cpu_set_has(&p->running, cpu) ||
            !(rf_gang_holds(p, cpu, priority) || rf_gang_allowed(p, priority));
    assigns \nothing;
    ensures \result != RF_GANG_OK;
  behavior started:
    assumes cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu) && 1 <= priority <= 99;
    assumes !rf_cpu_set_has(&p->running, cpu);
    assumes rf_gang_holds(p, cpu, priority) || rf_gang_allowed(p, priority);
    ensures \result == RF_GANG_OK;
    ensures p->locked_priority == priority;
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_gang_status rf_gang_running(struct rf_gang_partition *p, uint32_t cpu,
                                                  uint32_t priority, uint64_t now_ns) {
    if (!rf_gang_has_cpu(p, cpu))
        return RF_GANG_BAD_CPU;
    if (!rf_gang_is_priority(priority))
        return RF_GANG_BAD_PRIORITY;
    if (rf_cpu_set_contains(&p->running, cpu))
        return RF_GANG_ALREADY_RUNNING;
    bool holds = rf_cpu_set_contains(&p->locked, cpu) && p->locked_priority == priority;
    if (!holds && !rf_gang_may_run(p, priority))
        return RF_GANG_NOT_ALLOWED;
    rf_gang_start(p, cpu, priority, now_ns);
    return RF_GANG_OK;
}

/* Takes the lock from `cpu`. */
/*@
  requires \valid(p) && cpu < RF_MAX_CPUS;
  requires rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->locked, p->running, p->locked_priority;
  ensures rf_gang_lock_valid(p);
  ensures rf_share_valid(&p->share);
  ensures p->locked_priority == 0 || p->locked_priority == \old(p->locked_priority);
  ensures rf_cpu_set_removed{Pre, Post}(&p->locked, cpu);
  ensures rf_cpu_set_removed{Pre, Post}(&p->running, cpu);
*/
static inline void rf_gang_unlock(struct rf_gang_partition *p, uint32_t cpu) {
    rf_cpu_set_remove(&p->running, cpu);
    /*@ assert rf_share_valid(&p->share); */
    rf_cpu_set_remove(&p->locked, cpu);
    /*@ assert rf_share_valid(&p->share); */
    if (rf_cpu_set_is_empty(&p->locked))
        p->locked_priority = RF_GANG_NO_PRIORITY;
}

/* Tells who has to know that the share limit is used up, or that CPUs may start again. */
/*@
  requires \valid(p) && \valid(reschedule) && \separated(p, reschedule);
  requires rf_cpu_set_empty(reschedule);
  requires rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->waiting, p->share.exhausted_until_ns, *reschedule;
  ensures rf_gang_lock_valid(p);
  ensures rf_share_valid(&p->share);
  ensures \old(p->share.exhausted_until_ns) == 0 && p->share.exhausted_until_ns != 0 ==>
      rf_cpu_set_copied{Pre, Post}(&p->locked, reschedule);
  ensures \old(p->share.exhausted_until_ns) != 0 && p->share.exhausted_until_ns == 0 ==>
      rf_cpu_set_copied{Pre, Post}(&p->waiting, reschedule);
  ensures freed && p->share.exhausted_until_ns == 0 ==>
      rf_cpu_set_copied{Pre, Post}(&p->waiting, reschedule);
*/
static inline void rf_gang_settle(struct rf_gang_partition *p, bool freed,
                                  struct rf_cpu_set *reschedule) {
    enum rf_share_change change = rf_share_check(&p->share);
    /*@ assert rf_cpu_set_copied{Pre, Here}(&p->locked, &p->locked); */
    /*@ assert rf_cpu_set_copied{Pre, Here}(&p->waiting, &p->waiting); */
    if (change == RF_SHARE_EXHAUSTED)
        rf_cpu_set_copy(reschedule, &p->locked);
    else if (change == RF_SHARE_RENEWED || freed)
        rf_gang_tell_waiting(p, reschedule);
}

/* `cpu` gives up the lock: its thread left, or it does not start one after RUN. */
/*@
  requires \valid(p) && \valid(reschedule) && \separated(p, reschedule);
  requires rf_gang_counts_valid(p) && rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->locked, p->running, p->waiting, p->locked_priority, p->share, *reschedule;
  ensures rf_gang_lock_valid(p);
  ensures rf_share_valid(&p->share);
  behavior refused:
    assumes !(cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu) &&
              rf_cpu_set_has(&p->locked, cpu));
    assigns *reschedule;
    ensures \result == RF_GANG_BAD_CPU || \result == RF_GANG_NOT_RUNNING;
    ensures rf_cpu_set_empty(reschedule);
  behavior released:
    assumes cpu < RF_MAX_CPUS && rf_cpu_set_has(&p->cpus, cpu) &&
            rf_cpu_set_has(&p->locked, cpu);
    ensures \result == RF_GANG_OK;
    ensures p->locked_priority == 0 || p->locked_priority == \old(p->locked_priority);
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_gang_status rf_gang_stopping(struct rf_gang_partition *p, uint32_t cpu,
                                                   uint64_t now_ns, struct rf_cpu_set *reschedule) {
    bool known = rf_gang_has_cpu(p, cpu);
    bool locked = known && rf_cpu_set_contains(&p->locked, cpu);
    rf_cpu_set_clear(reschedule);
    /*@ assert rf_gang_lock_valid(p); */
    /*@ assert rf_share_valid(&p->share); */
    if (!known)
        return RF_GANG_BAD_CPU;
    if (!locked)
        return RF_GANG_NOT_RUNNING;
    rf_share_advance(&p->share, now_ns, !rf_cpu_set_is_empty(&p->running));
    /*@ assert rf_gang_lock_valid(p); */
    rf_gang_unlock(p, cpu);
    rf_gang_settle(p, p->locked_priority == RF_GANG_NO_PRIORITY, reschedule);
    return RF_GANG_OK;
}

/* The time that rf_gang_next_timer_ns gave has come. */
/*@
  requires \valid(p) && \valid(reschedule) && \separated(p, reschedule);
  requires rf_gang_counts_valid(p) && rf_gang_lock_valid(p) && rf_share_valid(&p->share);
  assigns p->waiting, p->share, *reschedule;
  ensures rf_gang_lock_valid(p);
  ensures rf_share_valid(&p->share);
*/
static inline void rf_gang_timer(struct rf_gang_partition *p, uint64_t now_ns,
                                 struct rf_cpu_set *reschedule) {
    rf_cpu_set_clear(reschedule);
    /*@ assert rf_gang_lock_valid(p); */
    /*@ assert rf_share_valid(&p->share); */
    rf_share_advance(&p->share, now_ns, !rf_cpu_set_is_empty(&p->running));
    /*@ assert rf_gang_lock_valid(p); */
    rf_gang_settle(p, false, reschedule);
}

/* When to call rf_gang_timer next, or RF_SHARE_NEVER_NS. */
/*@
  requires \valid_read(p) && rf_share_valid(&p->share);
  assigns \nothing;
  ensures p->share.exhausted_until_ns != 0 ==> \result == p->share.exhausted_until_ns;
  ensures p->share.exhausted_until_ns == 0 && rf_cpu_set_empty(&p->running) ==>
      \result == RF_SHARE_NEVER_NS;
*/
static inline uint64_t rf_gang_next_timer_ns(const struct rf_gang_partition *p) {
    return rf_share_next_check_ns(&p->share, !rf_cpu_set_is_empty(&p->running));
}

#endif
