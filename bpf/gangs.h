/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Gang scheduling: carries what happens to policy/gang.h, and what it decides to the CPUs.
 *
 * Invariant: members of two gangs of a partition never execute at the same time. The
 * policy gives a CPU to a gang only when no CPU holds the lock for another; here a CPU
 * that gives its lock back is `leaving` until the kernel has switched away from what it
 * ran (tracepoint sched_switch), and until then nobody else of the partition starts.
 *
 * Queues: a thread that may run on one CPU only waits in the queue of that CPU and its
 * priority, any other in the queue of its partition and priority. Kernel threads wait in a
 * queue, too: what dispatch has chosen starts at once, and nothing of this class comes in
 * between.
 */
#ifndef RINGFENCE_BPF_GANGS_H
#define RINGFENCE_BPF_GANGS_H

#include "regulation.h"

/* What becomes of a CPU that asked for a member. */
enum gang_outcome {
    GANG_NONE,    /* no member may run here now */
    GANG_SOON,    /* its turn comes as soon as other CPUs have switched */
    GANG_RUNS,    /* a member runs next */
    GANG_GOES_ON, /* the member that runs here does */
};

struct share_timer {
    struct bpf_timer timer;
    u64 due_ns; /* when it was last told to fire; 0 or past: it does not */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_PARTITIONS);
    __type(key, u32);
    __type(value, struct share_timer);
} share_timers SEC(".maps");

/*
 * The queue numbers of CPUs lie below those of partitions. Of a place they are the priorities
 * of gangs, 0 for best-effort work and one above them for kernel threads.
 */
#define QUEUES_A_PLACE 128U
#define KERNEL_THREADS (RF_GANG_MAX_PRIORITY + 1)
#define PARTITION_QUEUES ((u64)RF_MAX_CPUS * QUEUES_A_PLACE)

static inline u64 queue_of_cpu(u32 cpu, u32 priority) {
    return (u64)cpu * QUEUES_A_PLACE + priority;
}

static inline u64 queue_of_partition(u32 partition, u32 priority) {
    return PARTITION_QUEUES + (u64)partition * QUEUES_A_PLACE + priority;
}

#define ANY_CPU RF_MAX_CPUS

/* The thread is the one that this CPU is just taking itself away from. */
static inline bool is_current(const struct task_struct *p) {
    return (u32)bpf_get_current_pid_tgid() == (u32)p->pid;
}

/* The only CPU that a thread may run on now, or ANY_CPU. */
static inline u32 only_cpu(struct task_struct *p) {
    /* While a program like this one runs, it keeps the current thread where it is. */
    if (p->migration_disabled && p->migration_disabled > is_current(p))
        return (u32)scx_bpf_task_cpu(p);
    /* Its CPU may still be one that it has just been forbidden. */
    return p->nr_cpus_allowed == 1 ? bpf_cpumask_first(p->cpus_ptr) : ANY_CPU;
}

static inline void add_all(struct rf_cpu_set *into, const struct rf_cpu_set *from) {
    for (u32 i = 0; i < RF_CPU_SET_WORDS; i++)
        into->word[i] |= from->word[i];
}

static inline void count_policy_error(enum rf_gang_status status) {
    struct counters *c = counted();
    if (status != RF_GANG_OK && c)
        c->policy_errors++;
}

static int share_timer_fired(void *map, u32 *index, struct share_timer *timer);

/*
 * Has the timer of the share limit fire no later than the policy asks for it. It asks for ever
 * later times: one that is due before does, and asks again then. So hand-overs leave it alone,
 * as starting it costs an interrupt.
 */
static inline void arm_share_timer(u32 index, u64 next_ns, u64 now_ns) {
    if (next_ns == RF_SHARE_NEVER_NS)
        return;
    struct share_timer *timer = bpf_map_lookup_elem(&share_timers, &index);
    if (!timer || (timer->due_ns > now_ns && timer->due_ns <= next_ns))
        return;
    timer->due_ns = next_ns;
    if (bpf_timer_start(&timer->timer, next_ns > now_ns ? next_ns - now_ns : 0, 0))
        timer->due_ns = 0;
}

/* CPUs whose members wait see whether one is due an instant. The caller holds the partition's lock. */
static inline void look_for_instants(struct partition *partition) {
    if (rf_share_is_exhausted(&partition->gang.share))
        add_all(&partition->retry, &partition->gang.waiting);
}

static int share_timer_fired(void *map, u32 *index, struct share_timer *timer) {
    u32 number = *index;
    struct partition *partition = partition_of(number);
    /* Before anything is looked at: who changes it from now on may rely on it no more. */
    timer->due_ns = 0;
    if (!partition)
        return 0;
    struct rf_cpu_set reschedule;
    rf_cpu_set_clear(&reschedule);
    u64 now_ns = bpf_ktime_get_ns();
    bpf_spin_lock(&partition->lock);
    if (rf_gang_next_timer_ns(&partition->gang) <= now_ns)
        rf_gang_timer(&partition->gang, now_ns, &reschedule);
    look_for_instants(partition);
    u64 next_ns = rf_gang_next_timer_ns(&partition->gang);
    bpf_spin_unlock(&partition->lock);
    kick_any(&reschedule);
    arm_share_timer(number, next_ns, now_ns);
    return 0;
}

/* A member of `priority` became runnable, or no longer is. */
static inline void count_runnable(u32 index, u32 priority, bool runnable) {
    struct partition *partition = partition_of(index);
    if (!partition)
        return;
    struct rf_cpu_set reschedule;
    bpf_spin_lock(&partition->lock);
    enum rf_gang_status status = runnable
                                     ? rf_gang_runnable(&partition->gang, priority, &reschedule)
                                     : rf_gang_quiescent(&partition->gang, priority, &reschedule);
    bpf_spin_unlock(&partition->lock);
    count_policy_error(status);
    kick_any(&reschedule);
}

/* Whether a member of `priority` waits for `cpu`. */
static inline bool is_queued(u32 index, u32 cpu, u32 priority) {
    return scx_bpf_dsq_nr_queued(queue_of_cpu(cpu, priority)) > 0 ||
           scx_bpf_dsq_nr_queued(queue_of_partition(index, priority)) > 0;
}

/*
 * The highest priority above `floor` and below `limit` with a member that waits for `cpu`, or
 * none. Global: see kick_all.
 */
__attribute__((noinline)) u32 highest_queued(u32 index, u32 cpu, u32 floor, u32 limit) {
    struct partition *partition = partition_of(index);
    u32 highest = RF_GANG_NO_PRIORITY;
    u32 i;
    if (!partition)
        return highest;
    /* Nothing that waits is above it, and most often it is what is looked for. */
    u32 active = partition->gang.active_priority;
    if (active <= floor)
        return highest;
    if (active < limit && is_queued(index, cpu, active))
        return active;
    bpf_for(i, 0, partition->priorities) {
        u32 priority = partition->priority[RF_INDEX(i, RF_GANG_PRIORITIES)];
        if (priority > floor && priority > highest && priority < limit &&
            partition->gang.runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)] &&
            is_queued(index, cpu, priority))
            highest = priority;
    }
    return highest;
}

static inline bool is_demanded_by(const struct partition *partition, u32 cpu) {
    return partition->demanded && partition->demanding_cpu == cpu;
}

/*
 * Who may go on when no CPU is leaving any more: of those that wait for an instant of another one,
 * that one. The caller holds the partition's lock.
 */
static inline void take_retry(struct partition *partition, struct rf_cpu_set *told) {
    if (!rf_cpu_set_is_empty(&partition->leaving))
        return;
    if (partition->demanded) {
        rf_cpu_set_insert(told, partition->demanding_cpu);
        return;
    }
    add_all(told, &partition->retry);
    rf_cpu_set_clear(&partition->retry);
}

/*
 * Gives the lock of `cpu` back. A member that runs here goes on until the kernel switches:
 * until then the CPU is leaving. The caller holds the partition's lock, and kicks `told`.
 */
static inline void leave(struct partition *partition, struct cpu_state *state, u32 cpu, u64 now_ns,
                         struct rf_cpu_set *told) {
    struct rf_cpu_set reschedule;
    rf_gang_stopping(&partition->gang, cpu, now_ns, &reschedule);
    add_all(&partition->retry, &reschedule);
    look_for_instants(partition);
    if (state->running) {
        rf_cpu_set_insert(&partition->leaving, cpu);
        partition->leaving_priority = state->held_priority;
        state->leaving = 1;
    }
    state->held_priority = RF_GANG_NO_PRIORITY;
    state->running = 0;
    take_retry(partition, told);
}

/*
 * Whether another CPU is leaving a gang of another priority. All CPUs that are leaving at
 * a time ran the same gang: another one starts only when none is.
 */
static inline bool others_leave(const struct partition *partition, u32 cpu, u32 priority) {
    struct rf_cpu_set others;
    if (partition->leaving_priority == priority)
        return false;
    rf_cpu_set_copy(&others, &partition->leaving);
    rf_cpu_set_remove(&others, cpu);
    return !rf_cpu_set_is_empty(&others);
}

/*
 * Asks for `priority`, 0 for none, on `cpu`, and gives back a lock that it holds for
 * something else. The caller holds the partition's lock, and kicks `told`.
 */
static inline enum gang_outcome ask(struct partition *partition, struct cpu_state *state, u32 cpu,
                                    u32 priority, u64 now_ns, struct rf_cpu_set *told) {
    enum rf_gang_decision decision = RF_GANG_BLOCK;
    if (state->held_priority && state->held_priority != priority)
        leave(partition, state, cpu, now_ns, told);
    if (!priority)
        return GANG_NONE;
    if (partition->demanded || others_leave(partition, cpu, priority))
        rf_cpu_set_insert(&partition->retry, cpu);
    else
        rf_gang_decide(&partition->gang, cpu, priority, &decision);
    if (decision == RF_GANG_BLOCK && state->held_priority)
        leave(partition, state, cpu, now_ns, told);
    if (decision == RF_GANG_RUN) {
        state->held_priority = priority;
        return GANG_RUNS;
    }
    bool next = priority == partition->gang.active_priority &&
                !rf_share_is_exhausted(&partition->gang.share);
    return next ? GANG_SOON : GANG_NONE;
}

/*
 * Makes the CPUs that may take a free member think again: all of them, because any one may
 * be held up by a thread of a higher class, and those that run its own gang because their
 * member may be leaving just now.
 */
static inline void kick_for(struct task_struct *p, u32 index, u32 priority) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (!state || !state->in_partition || state->partition != index ||
            !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
            continue;
        /* The thread is in its queue only after this: one that looks just now is told, too. */
        if (state->held_priority <= priority)
            kick(cpu);
        else
            scx_bpf_kick_cpu((s32)cpu, SCX_KICK_IDLE);
    }
}

/* Queues a member, and has a CPU think of it. */
static inline void enqueue_member(struct task_struct *p, struct thread_state *thread,
                                  u64 enq_flags) {
    u32 cpu = only_cpu(p);
    u32 priority = thread->priority;
    bool pinned = cpu != ANY_CPU;
    u64 queue =
        pinned ? queue_of_cpu(cpu, priority) : queue_of_partition(thread->partition, priority);
    /* As SCHED_FIFO does: who was preempted goes on before its equals. */
    u64 head = thread->preempted ? ENQ(HEAD) : 0;
    scx_bpf_dsq_insert(p, queue, SCX_SLICE_ENDLESS, enq_flags | head);
    if (!pinned) {
        kick_for(p, thread->partition, priority);
        return;
    }
    struct cpu_state *state = cpu_state_of(cpu);
    /* The CPU that takes itself away from it dispatches anyway. */
    if (state && state->held_priority < priority && !is_current(p))
        kick(cpu);
}

/* Threads that the kernel will start on `cpu` without asking dispatch again. */
static inline bool has_local(u32 cpu) {
    return scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) > 0;
}

/* Starts a member on a CPU that runs none, as far as the policy knows. Under the partition's lock. */
static inline enum rf_gang_status start(struct partition *partition, struct cpu_state *state,
                                        u32 cpu, u32 priority, u64 now_ns) {
    if (!state->held_priority && others_leave(partition, cpu, priority))
        return RF_GANG_NOT_ALLOWED;
    enum rf_gang_status status = rf_gang_running(&partition->gang, cpu, priority, now_ns);
    if (status == RF_GANG_OK) {
        state->held_priority = priority;
        state->running = 1;
    }
    return status;
}

/*
 * From now on `cpu` runs a member of `priority`, or something else (0): what ran there
 * before has left.
 */
static inline void switched(struct cpu_state *state, u32 cpu, u32 priority) {
    if (!state->held_priority && !state->leaving && !priority)
        return;
    if (state->running && !state->leaving && state->held_priority == priority)
        return;
    u32 index = state->partition;
    struct partition *partition = partition_of(index);
    if (!partition)
        return;
    struct rf_cpu_set told;
    enum rf_gang_status status = RF_GANG_OK;
    rf_cpu_set_clear(&told);
    u64 now_ns = bpf_ktime_get_ns();
    /*
     * The chosen member waits behind a thread of a higher class that came in between. It
     * starts without being asked again, so its lock stays.
     */
    bool keeps = !priority && state->chosen && has_local(cpu);
    bpf_spin_lock(&partition->lock);
    u32 active = partition->gang.locked_priority;
    rf_cpu_set_remove(&partition->leaving, cpu);
    state->leaving = 0;
    if (state->held_priority && state->held_priority != priority && !keeps) {
        state->running = 0;
        leave(partition, state, cpu, now_ns, &told);
    }
    take_retry(partition, &told);
    if (priority && !state->running)
        status = start(partition, state, cpu, priority, now_ns);
    u64 next_ns = rf_gang_next_timer_ns(&partition->gang);
    bool is_news = partition->gang.locked_priority != active;
    bpf_spin_unlock(&partition->lock);
    state->chosen = keeps;
    if (status != RF_GANG_OK) {
        /* It came here past dispatch: think again at once. */
        struct counters *c = counted();
        if (c)
            c->refused_starts++;
        kick(cpu);
    }
    kick_any(&told);
    arm_share_timer(index, next_ns, now_ns);
    if (is_news)
        tell_gang(index);
}

/* Asks for `priority` on `cpu`, under the partition's lock. */
static inline enum gang_outcome ask_locked(struct partition *partition, struct cpu_state *state,
                                           u32 cpu, u32 priority) {
    struct rf_cpu_set told;
    rf_cpu_set_clear(&told);
    u64 now_ns = bpf_ktime_get_ns();
    bpf_spin_lock(&partition->lock);
    u32 active = partition->gang.locked_priority;
    enum gang_outcome outcome = ask(partition, state, cpu, priority, now_ns, &told);
    bool is_news = partition->gang.locked_priority != active;
    bpf_spin_unlock(&partition->lock);
    kick_any(&told);
    if (is_news)
        tell_gang(state->partition);
    return outcome;
}

/*
 * Chooses the member that runs on `cpu` next; `prev_priority` is that of the thread that
 * runs here until now, if it may go on, and it gives way to those above `floor`. Answers an
 * enum gang_outcome. Global: see kick_all.
 */
__attribute__((noinline)) int choose_member(u32 index, u32 cpu, u32 prev_priority, u32 floor) {
    struct partition *partition = partition_of(index);
    struct cpu_state *state = cpu_state_of(cpu);
    if (!partition || !state)
        return GANG_NONE;
    u32 limit = RF_GANG_PRIORITIES;
    u32 i;
    bpf_for(i, 0, RF_GANG_PRIORITIES) {
        u32 queued = highest_queued(index, cpu, floor, limit);
        u32 priority = queued ? queued : prev_priority;
        if (!priority && !state->held_priority)
            return GANG_NONE;
        bool held = state->held_priority;
        enum gang_outcome outcome = ask_locked(partition, state, cpu, priority);
        /* A free member that came before the lock was given back has not kicked this CPU. */
        if (outcome == GANG_NONE && held) {
            full_barrier(state);
            continue;
        }
        if (outcome != GANG_RUNS)
            return outcome;
        if (!queued)
            return GANG_GOES_ON;
        if (scx_bpf_dsq_move_to_local(queue_of_cpu(cpu, priority)) ||
            scx_bpf_dsq_move_to_local(queue_of_partition(index, priority))) {
            state->chosen = 1;
            return GANG_RUNS;
        }
        /* Those who wait there may not run here: who comes after them is to wait for its turn. */
        limit = priority;
    }
    return GANG_NONE;
}

#endif
