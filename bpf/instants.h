/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * An instant for members that wait long, in the time that the share limit leaves to others.
 *
 * A gang that never sleeps leaves lower ones nothing, and the kernel's watchdog ends a
 * scheduler under which a runnable thread does not run for 30 s. So while the share is used up,
 * and no gang runs, such a thread is switched to and, at once, away from.
 *
 * Invariant: it is the only gang that executes then. The CPU counts as `leaving` from before
 * the thread starts until the kernel has switched away from it.
 *
 * Known gaps: there are no instants without a share limit, nor if its window is longer than
 * what the watchdog waits. A thread that was preempted within the kernel may go on there until
 * it gets to a point at which it gives way.
 */
#ifndef RINGFENCE_BPF_INSTANTS_H
#define RINGFENCE_BPF_INSTANTS_H

#include "best_effort.h"

/* A third of what the watchdog waits: late ones still come in time. */
#define INSTANT_AFTER_NS 10000000000ULL

/* Threads of a queue that are looked at. */
#define WAITING_LOOKED_AT 64

static inline bool waits_long(struct task_struct *p, u64 now_ns) {
    struct thread_state *thread = thread_state_of(p);
    return thread && (s64)(now_ns - thread->waits_since_ns) > (s64)INSTANT_AFTER_NS;
}

/*
 * Whether nothing of another gang executes, and this CPU's own last member does not either: one
 * that has been told to go still runs here while dispatch chooses what comes next.
 */
static inline bool nobody_runs(const struct partition *partition, u32 cpu, u32 priority) {
    return partition->gang.locked_priority == RF_GANG_NO_PRIORITY &&
           !rf_cpu_set_contains(&partition->leaving, cpu) &&
           !others_leave(partition, cpu, priority);
}

/*
 * Whether an instant of `priority` may be had on `cpu`; if so, the CPU is leaving from now on.
 * If only what still runs stands in its way, it will be told when that has gone.
 */
static inline bool begin_instant(struct partition *partition, struct cpu_state *state, u32 cpu,
                                 u32 priority) {
    bool may = false;
    bpf_spin_lock(&partition->lock);
    if (rf_share_is_exhausted(&partition->gang.share)) {
        may = nobody_runs(partition, cpu, priority);
        if (may) {
            rf_cpu_set_insert(&partition->leaving, cpu);
            partition->leaving_priority = priority;
            state->leaving = 1;
        } else {
            rf_cpu_set_insert(&partition->retry, cpu);
        }
    }
    bpf_spin_unlock(&partition->lock);
    if (may)
        state->instant = 1;
    return may;
}

/* Gives an instant to a thread of a queue; whether one runs next. Global: see kick_all. */
__attribute__((noinline)) int instant_from(u64 queue, u32 index, u32 cpu, u32 priority) {
    struct partition *partition = partition_of(index);
    struct cpu_state *state = cpu_state_of(cpu);
    if (!partition || !state || scx_bpf_dsq_nr_queued(queue) <= 0)
        return 0;
    u64 now_ns = bpf_ktime_get_ns();
    bool given = false;
    bool refused = false;
    struct bpf_iter_scx_dsq iterator;
    bpf_iter_scx_dsq_new(&iterator, queue, 0);
    u32 i;
    bpf_for(i, 0, WAITING_LOOKED_AT) {
        struct task_struct *p = bpf_iter_scx_dsq_next(&iterator);
        if (!p || given || refused)
            break;
        if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr) || !waits_long(p, now_ns))
            continue;
        refused = !begin_instant(partition, state, cpu, priority);
        if (!refused)
            given = scx_bpf_dsq_move(&iterator, p, SCX_DSQ_LOCAL, 0);
    }
    bpf_iter_scx_dsq_destroy(&iterator);
    /* It went elsewhere in between. */
    if (!given && state->instant) {
        state->instant = 0;
        switched(state, cpu, RF_GANG_NO_PRIORITY);
    }
    return given;
}

/* Gives an instant to a member that waits long for `cpu`; whether one runs next. Global: see kick_all. */
__attribute__((noinline)) int give_instant(u32 index, u32 cpu) {
    struct partition *partition = partition_of(index);
    u32 i;
    if (!partition || !rf_share_is_exhausted(&partition->gang.share))
        return 0;
    bpf_for(i, 0, partition->priorities) {
        u32 priority = partition->priority[RF_INDEX(i, RF_GANG_PRIORITIES)];
        if (!partition->gang.runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)])
            continue;
        if (instant_from(queue_of_cpu(cpu, priority), index, cpu, priority) ||
            instant_from(queue_of_partition(index, priority), index, cpu, priority))
            return 1;
    }
    return 0;
}

/*
 * Whether a switch to a thread of `priority`, 0 for none, is part of an instant: its begin, or
 * a thread of a higher class that comes before it.
 */
static inline bool is_of_instant(struct cpu_state *state, u32 cpu, u32 priority) {
    if (!state->instant)
        return false;
    if (!priority && has_local(cpu))
        return true;
    state->instant = 0;
    if (priority)
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
    return priority;
}

#endif
