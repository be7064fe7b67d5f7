/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * An instant for members that wait long: they are switched to and, at once, away from.
 *
 * A gang that never sleeps leaves lower ones nothing, and the kernel ends a scheduler under
 * which a runnable thread does not run for 30 s, or holds up RCU for 21 s. The instant comes out
 * of the time that the share limit leaves to others. Where there is none (no limit, a long
 * window, or gangs that spend it on their hand-overs), the CPU at last *demands* one: all gangs
 * of the partition stand back until it had it.
 *
 * Invariant: it is the only gang that executes then. The CPU counts as `leaving` from before
 * the thread starts until the kernel has switched away from it.
 *
 * Known gaps: a thread that was preempted within the kernel may go on there until it gets to a
 * point at which it gives way. Of a queue the first WAITING_LOOKED_AT are looked at. A thread of
 * the real-time class that comes between choice and start holds up all gangs of the partition.
 */
#ifndef RINGFENCE_BPF_INSTANTS_H
#define RINGFENCE_BPF_INSTANTS_H

#include "best_effort.h"

/* Who has waited this long has an instant; set before the programs are loaded. */
const volatile u64 instant_after_ns;

/* Whoever found no time for its instant until then demands it. */
#define DEMAND_AFTER_NS (2 * instant_after_ns)

/*
 * What a reader of RCU gets: at once it would not get any further. A grace period waits for it, to
 * which the kernel gives 21 s. So should it still be one afterwards, its next instant has
 * four times the length: the reading may be long, the board slow, or a hypervisor may have taken the
 * CPU meanwhile. After so many it waits like all others.
 */
#define READER_INSTANT_NS 100000ULL
#define READER_INSTANTS 5

/* From one look for those who wait to the next. */
#define LOOK_NS 1000000000ULL

/* Threads of a queue that are looked at. */
#define WAITING_LOOKED_AT 256

struct look_timer {
    struct bpf_timer timer;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct look_timer);
} look_timers SEC(".maps");

struct instant_timer {
    struct bpf_timer timer;
};

/* When the instant of a CPU ends. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_CPUS);
    __type(key, u32);
    __type(value, struct instant_timer);
} instant_timers SEC(".maps");

static int instant_timer_fired(void *map, u32 *cpu, struct instant_timer *timer) {
    kick(*cpu);
    return 0;
}

static inline bool is_rcu_reader(const struct task_struct *p) {
    return bpf_core_field_exists(p->rcu_read_lock_nesting) && p->rcu_read_lock_nesting > 0;
}

/* How long the instant of `p` is that begins now; 0 if it ends at once. */
static inline u64 length_of_instant_ns(const struct task_struct *p, struct thread_state *thread) {
    if (!is_rcu_reader(p)) {
        thread->reader_instants = 0;
        return 0;
    }
    u32 before = thread->reader_instants % READER_INSTANTS;
    thread->reader_instants = (before + 1) % READER_INSTANTS;
    return READER_INSTANT_NS << (2 * before);
}

/*
 * From when on `p` waits, which stops now. For best-effort work that is still a reader after an
 * instant, long ago: it has the next one at once. A member has not: gangs are promised that it waits.
 */
static inline u64 begin_wait_ns(struct task_struct *p, struct thread_state *thread) {
    u64 now_ns = bpf_ktime_get_ns();
    if (!is_rcu_reader(p))
        thread->reader_instants = 0;
    bool again = thread->reader_instants && is_best_effort(p, thread);
    return again ? now_ns - DEMAND_AFTER_NS - 1 : now_ns;
}

/* Ends the instant of `p`, which begins now. */
static inline void end_instant(u32 cpu, const struct task_struct *p, struct thread_state *thread) {
    struct instant_timer *timer = bpf_map_lookup_elem(&instant_timers, &cpu);
    u64 length_ns = timer && thread ? length_of_instant_ns(p, thread) : 0;
    if (!length_ns || bpf_timer_start(&timer->timer, length_ns, 0))
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
}

static inline bool waits_longer(struct task_struct *p, u64 than_ns, u64 now_ns) {
    struct thread_state *thread = thread_state_of(p);
    return thread && (s64)(now_ns - thread->waits_since_ns) > (s64)than_ns;
}

/* Whether a thread of the queue that may run on `cpu` waits longer. Global: see kick_all. */
__attribute__((noinline)) int has_waited(u64 queue, u32 cpu, u64 than_ns) {
    if (scx_bpf_dsq_nr_queued(queue) <= 0)
        return 0;
    u64 now_ns = bpf_ktime_get_ns();
    bool found = false;
    struct bpf_iter_scx_dsq iterator;
    /* Not held yet in the callback of a timer that a system call sets, as the kernel sees it. */
    bpf_rcu_read_lock();
    bpf_iter_scx_dsq_new(&iterator, queue, 0);
    u32 i;
    bpf_for(i, 0, WAITING_LOOKED_AT) {
        struct task_struct *p = bpf_iter_scx_dsq_next(&iterator);
        if (!p || found)
            break;
        found = bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && waits_longer(p, than_ns, now_ns);
    }
    bpf_iter_scx_dsq_destroy(&iterator);
    bpf_rcu_read_unlock();
    return found;
}

/* Whether a member that may run on `cpu` waits longer. Global: see kick_all. */
__attribute__((noinline)) int member_has_waited(u32 index, u32 cpu, u64 than_ns) {
    struct partition *partition = partition_of(index);
    u32 i;
    if (!partition)
        return 0;
    bpf_for(i, 0, partition->priorities) {
        u32 priority = partition->priority[RF_INDEX(i, RF_GANG_PRIORITIES)];
        if (partition->gang.runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)] &&
            (has_waited(queue_of_cpu(cpu, priority), cpu, than_ns) ||
             has_waited(queue_of_partition(index, priority), cpu, than_ns)))
            return 1;
    }
    return 0;
}

/* The same of the agent and of best-effort work. Global: see kick_all. */
__attribute__((noinline)) int best_effort_has_waited(u32 cpu) {
    return has_waited(AGENT_QUEUE, cpu, DEMAND_AFTER_NS) ||
           has_waited(SHARED_QUEUE, cpu, DEMAND_AFTER_NS) ||
           has_waited(best_effort_queue(cpu), cpu, DEMAND_AFTER_NS);
}

/* Has CPUs give instants to those who have waited too long. */
static int look_timer_fired(void *map, u32 *index, struct look_timer *timer) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (!state)
            continue;
        bool demands =
            state->demands ||
            (state->in_partition && member_has_waited(state->partition, cpu, DEMAND_AFTER_NS));
        bool overdue = best_effort_has_waited(cpu);
        if (demands)
            state->demands = 1;
        if (overdue)
            state->overdue = 1;
        if (demands || overdue)
            kick(cpu);
    }
    bpf_timer_start(&timer->timer, LOOK_NS, 0);
    return 0;
}

/* All had their instants, or cannot have them now: gangs may go on. */
static inline void end_demand(struct cpu_state *state, u32 cpu) {
    struct partition *partition = partition_of(state->partition);
    struct rf_cpu_set told;
    state->demands = 0;
    if (!partition)
        return;
    rf_cpu_set_clear(&told);
    bpf_spin_lock(&partition->lock);
    if (partition->demanded && partition->demanding_cpu == cpu) {
        partition->demanded = 0;
        take_retry(partition, &told);
    }
    bpf_spin_unlock(&partition->lock);
    kick_any(&told);
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
    if (rf_share_is_exhausted(&partition->gang.share) || is_demanded_by(partition, cpu)) {
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

/* Has the CPU run a thread of the queue next that waits longer; whether there was one. Global: see kick_all. */
__attribute__((noinline)) int move_waiting(u64 queue, u32 cpu, u64 than_ns) {
    u64 now_ns = bpf_ktime_get_ns();
    bool moved = false;
    struct bpf_iter_scx_dsq iterator;
    bpf_iter_scx_dsq_new(&iterator, queue, 0);
    u32 i;
    bpf_for(i, 0, WAITING_LOOKED_AT) {
        struct task_struct *p = bpf_iter_scx_dsq_next(&iterator);
        if (!p || moved)
            break;
        if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && waits_longer(p, than_ns, now_ns))
            moved = scx_bpf_dsq_move(&iterator, p, SCX_DSQ_LOCAL, 0);
    }
    bpf_iter_scx_dsq_destroy(&iterator);
    return moved;
}

/* Gives an instant to a thread of a queue; whether one runs next. Global: see kick_all. */
__attribute__((noinline)) int instant_from(u64 queue, u32 index, u32 cpu, u32 priority) {
    struct partition *partition = partition_of(index);
    struct cpu_state *state = cpu_state_of(cpu);
    if (!partition || !state || !has_waited(queue, cpu, instant_after_ns) ||
        !begin_instant(partition, state, cpu, priority))
        return 0;
    if (move_waiting(queue, cpu, instant_after_ns))
        return 1;
    /* It went elsewhere in between. */
    state->instant = 0;
    switched(state, cpu, RF_GANG_NO_PRIORITY);
    return 0;
}

/*
 * Gives an instant to best-effort work that budgets, or gangs, have kept waiting for too long;
 * whether some runs next. A member that runs here gives way as it does to a higher class.
 */
static inline bool give_best_effort_instant(struct cpu_state *state, u32 cpu) {
    if (!move_waiting(AGENT_QUEUE, cpu, DEMAND_AFTER_NS) &&
        !move_waiting(SHARED_QUEUE, cpu, DEMAND_AFTER_NS) &&
        !move_waiting(best_effort_queue(cpu), cpu, DEMAND_AFTER_NS)) {
        state->overdue = 0;
        return false;
    }
    state->brief = 1;
    return true;
}

/* Best-effort work starts its instant. */
static inline void end_brief(struct cpu_state *state, u32 cpu, const struct task_struct *p,
                             struct thread_state *thread) {
    state->brief = 0;
    if (!is_idle(p))
        end_instant(cpu, p, thread);
}

/* Gives an instant to a member that waits long for `cpu`; whether one runs next. Global: see kick_all. */
__attribute__((noinline)) int give_instant(u32 index, u32 cpu) {
    struct partition *partition = partition_of(index);
    u32 i;
    if (!partition ||
        (!rf_share_is_exhausted(&partition->gang.share) && !is_demanded_by(partition, cpu)))
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

/* Makes all gangs of the partition stand back while members have instants that waited too long for `cpu`. */
static inline void demand_instants(struct cpu_state *state, u32 cpu) {
    struct partition *partition = partition_of(state->partition);
    struct rf_cpu_set told;
    if (!partition)
        return;
    if (!member_has_waited(state->partition, cpu, DEMAND_AFTER_NS)) {
        end_demand(state, cpu);
        return;
    }
    rf_cpu_set_clear(&told);
    bpf_spin_lock(&partition->lock);
    if (!partition->demanded) {
        partition->demanded = 1;
        partition->demanding_cpu = cpu;
        add_all(&told, &partition->gang.locked);
    }
    bpf_spin_unlock(&partition->lock);
    kick_any(&told);
}

/*
 * Whether a switch to `next` is part of a member's instant: its begin, or
 * a thread of a higher class that comes before it.
 */
static inline bool is_of_instant(struct cpu_state *state, u32 cpu, const struct task_struct *next,
                                 struct thread_state *thread) {
    u32 priority = priority_in(thread, state->partition);
    if (!state->instant)
        return false;
    if (!priority && has_local(cpu))
        return true;
    state->instant = 0;
    if (!priority || !thread)
        return false;
    /* Behind its equals, or they would never be looked at. */
    thread->yielded = 1;
    end_instant(cpu, next, thread);
    return true;
}

#endif
