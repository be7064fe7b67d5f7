/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Gang scheduling: carries what happens to policy/gang.h, and what it decides to the CPUs.
 *
 * Invariant: members of two gangs of a partition never execute at the same time. The
 * policy gives a CPU to a gang only when no CPU holds the lock for another; here a CPU
 * that gives its lock back is `leaving` until the kernel has switched away from what it
 * ran (tracepoint sched_switch), and until then nobody else of the partition starts.
 *
 * A CPU is told to think again by SCX_KICK_PREEMPT: it ends the slice of what runs there,
 * so that dispatch is called.
 *
 * Queues: a thread that may run on one CPU only waits in the queue of that CPU and its
 * priority, any other in the queue of its partition and priority.
 */
#ifndef RINGFENCE_BPF_GANGS_H
#define RINGFENCE_BPF_GANGS_H

#include "regulation.h"

/* What becomes of a CPU that asked for its most important waiting member. */
enum gang_outcome {
    GANG_NONE, /* no member may run here now */
    GANG_SOON, /* its turn comes as soon as other CPUs have switched */
    GANG_RUNS, /* a member runs next */
};

struct share_timer {
    struct bpf_timer timer;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_PARTITIONS);
    __type(key, u32);
    __type(value, struct share_timer);
} share_timers SEC(".maps");

/* The queue numbers of CPUs lie below those of partitions. */
#define QUEUES_A_PLACE 128U
#define PARTITION_QUEUES ((u64)RF_MAX_CPUS * QUEUES_A_PLACE)

static inline u64 queue_of_cpu(u32 cpu, u32 priority) {
    return (u64)cpu * QUEUES_A_PLACE + priority;
}

static inline u64 queue_of_partition(u32 partition, u32 priority) {
    return PARTITION_QUEUES + (u64)partition * QUEUES_A_PLACE + priority;
}

/* Whether a thread may run on the CPU that it is on alone. */
static inline bool is_pinned(const struct task_struct *p) {
    return p->nr_cpus_allowed == 1 || p->migration_disabled;
}

static inline void join(struct rf_cpu_set *into, const struct rf_cpu_set *from) {
    for (u32 i = 0; i < RF_CPU_SET_WORDS; i++)
        into->word[i] |= from->word[i];
}

static inline void count_policy_error(enum rf_gang_status status) {
    struct counters *c = counted();
    if (status != RF_GANG_OK && c)
        c->policy_errors++;
}

static int share_timer_fired(void *map, u32 *index, struct share_timer *timer);

/* Arms the timer of the share limit for when the policy asks for it. */
static inline void arm_share_timer(u32 index, u64 next_ns, u64 now_ns) {
    if (next_ns == RF_SHARE_NEVER_NS)
        return;
    struct share_timer *timer = bpf_map_lookup_elem(&share_timers, &index);
    if (timer)
        bpf_timer_start(&timer->timer, next_ns > now_ns ? next_ns - now_ns : 0, 0);
}

static int share_timer_fired(void *map, u32 *index, struct share_timer *timer) {
    u32 number = *index;
    struct partition *partition = partition_of(number);
    if (!partition)
        return 0;
    struct rf_cpu_set reschedule;
    u64 now_ns = bpf_ktime_get_ns();
    bpf_spin_lock(&partition->lock);
    rf_gang_timer(&partition->gang, now_ns, &reschedule);
    u64 next_ns = rf_gang_next_timer_ns(&partition->gang);
    bpf_spin_unlock(&partition->lock);
    kick(&reschedule);
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
    kick(&reschedule);
}

/* The highest priority with a member that waits for `cpu`, or none. Global: see kick_all. */
__attribute__((noinline)) u32 highest_queued(u32 index, u32 cpu) {
    struct partition *partition = partition_of(index);
    u32 highest = RF_GANG_NO_PRIORITY;
    u32 i;
    if (!partition)
        return highest;
    bpf_for(i, 0, partition->priorities) {
        u32 priority = partition->priority[RF_INDEX(i, RF_GANG_PRIORITIES)];
        if (priority <= highest ||
            !partition->gang.runnable[RF_INDEX(priority, RF_GANG_PRIORITIES)])
            continue;
        if (scx_bpf_dsq_nr_queued(queue_of_cpu(cpu, priority)) > 0 ||
            scx_bpf_dsq_nr_queued(queue_of_partition(index, priority)) > 0)
            highest = priority;
    }
    return highest;
}

/*
 * Gives the lock of `cpu` back; it is leaving from now on. Who may start then is told
 * when it has left. The caller holds the partition's lock.
 */
static inline void leave(struct partition *partition, struct cpu_state *state, u32 cpu,
                         u64 now_ns) {
    struct rf_cpu_set reschedule;
    rf_gang_stopping(&partition->gang, cpu, now_ns, &reschedule);
    rf_cpu_set_insert(&partition->leaving, cpu);
    partition->leaving_priority = state->held_priority;
    join(&partition->retry, &reschedule);
    state->held_priority = RF_GANG_NO_PRIORITY;
    state->running = 0;
    state->leaving = 1;
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
 * something else. The caller holds the partition's lock.
 */
static inline enum gang_outcome ask(struct partition *partition, struct cpu_state *state, u32 cpu,
                                    u32 priority, u64 now_ns) {
    enum rf_gang_decision decision = RF_GANG_BLOCK;
    if (state->held_priority && state->held_priority != priority)
        leave(partition, state, cpu, now_ns);
    if (!priority)
        return GANG_NONE;
    if (others_leave(partition, cpu, priority)) {
        rf_cpu_set_insert(&partition->retry, cpu);
    } else {
        rf_gang_decide(&partition->gang, cpu, priority, &decision);
        if (decision == RF_GANG_BLOCK && state->held_priority)
            leave(partition, state, cpu, now_ns);
    }
    if (decision == RF_GANG_RUN) {
        state->held_priority = priority;
        return GANG_RUNS;
    }
    bool next = priority == partition->gang.active_priority &&
                !rf_share_is_exhausted(&partition->gang.share);
    return next ? GANG_SOON : GANG_NONE;
}

/* Makes CPUs of the partition that may take a member think again, as many as members wait. */
static inline void kick_for_waiting(struct task_struct *p, u32 index, u32 priority) {
    s32 waiting = scx_bpf_dsq_nr_queued(queue_of_partition(index, priority)) + 1;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count && waiting > 0; cpu++) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (!state || !state->in_partition || state->partition != index ||
            state->held_priority >= priority || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
            continue;
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
        waiting--;
    }
}

/* Queues a member, and has a CPU think of it. */
static inline void enqueue_member(struct task_struct *p, struct thread_state *thread,
                                  u64 enq_flags) {
    u32 cpu = (u32)scx_bpf_task_cpu(p);
    u32 priority = thread->priority;
    bool pinned = is_pinned(p);
    u64 queue =
        pinned ? queue_of_cpu(cpu, priority) : queue_of_partition(thread->partition, priority);
    /* As SCHED_FIFO does: who was preempted goes on before its equals. */
    u64 head = thread->preempted ? ENQ(HEAD) : 0;
    scx_bpf_dsq_insert(p, queue, SCX_SLICE_ENDLESS, enq_flags | head);
    if (!pinned) {
        kick_for_waiting(p, thread->partition, priority);
        return;
    }
    /* The CPU that preempted it dispatches by itself. */
    struct cpu_state *state = cpu_state_of(cpu);
    if (!thread->preempted && state && state->held_priority < priority)
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
}

/*
 * Gives a lock back for which nothing was started: at once, or when the member that held
 * it until now has left.
 */
static inline void give_back(struct partition *partition, struct cpu_state *state, u32 cpu) {
    struct rf_cpu_set reschedule;
    u64 now_ns = bpf_ktime_get_ns();
    rf_cpu_set_clear(&reschedule);
    bpf_spin_lock(&partition->lock);
    if (state->running) {
        leave(partition, state, cpu, now_ns);
    } else {
        rf_gang_stopping(&partition->gang, cpu, now_ns, &reschedule);
        state->held_priority = RF_GANG_NO_PRIORITY;
    }
    bpf_spin_unlock(&partition->lock);
    kick(&reschedule);
    tell_regulator(state->partition);
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
    bpf_spin_lock(&partition->lock);
    rf_cpu_set_remove(&partition->leaving, cpu);
    if (state->held_priority && state->held_priority != priority) {
        rf_gang_stopping(&partition->gang, cpu, now_ns, &told);
        state->held_priority = RF_GANG_NO_PRIORITY;
    }
    if (rf_cpu_set_is_empty(&partition->leaving)) {
        join(&told, &partition->retry);
        rf_cpu_set_clear(&partition->retry);
    }
    if (priority) {
        status = rf_gang_running(&partition->gang, cpu, priority, now_ns);
        if (status == RF_GANG_OK)
            state->held_priority = priority;
    }
    u64 next_ns = rf_gang_next_timer_ns(&partition->gang);
    bpf_spin_unlock(&partition->lock);
    state->running = state->held_priority != RF_GANG_NO_PRIORITY;
    state->leaving = 0;
    if (status != RF_GANG_OK) {
        /* It came here past dispatch: think again at once. */
        struct counters *c = counted();
        if (c)
            c->refused_starts++;
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
    }
    kick(&told);
    arm_share_timer(index, next_ns, now_ns);
    tell_regulator(index);
}

/* Chooses the member that runs on `cpu` next; `prev_priority` is that of `prev`, if it may go on. */
static inline enum gang_outcome dispatch_gang(struct cpu_state *state, u32 cpu,
                                              struct task_struct *prev, u32 prev_priority) {
    u32 index = state->partition;
    struct partition *partition = partition_of(index);
    if (!partition)
        return GANG_NONE;
    u32 queued = highest_queued(index, cpu);
    u32 priority = prev_priority >= queued ? prev_priority : queued;
    if (!priority && !state->held_priority)
        return GANG_NONE;
    u64 now_ns = bpf_ktime_get_ns();
    bpf_spin_lock(&partition->lock);
    enum gang_outcome outcome = ask(partition, state, cpu, priority, now_ns);
    bpf_spin_unlock(&partition->lock);
    tell_regulator(index);
    if (outcome != GANG_RUNS)
        return outcome;
    if (prev && priority == prev_priority) {
        /* No switch will tell that it runs, if it was no member of this gang before. */
        switched(state, cpu, priority);
        prev->scx.slice = SCX_SLICE_ENDLESS;
        return GANG_RUNS;
    }
    if (scx_bpf_dsq_move_to_local(queue_of_cpu(cpu, priority)) ||
        scx_bpf_dsq_move_to_local(queue_of_partition(index, priority)))
        return GANG_RUNS;
    give_back(partition, state, cpu);
    return GANG_NONE;
}

#endif
