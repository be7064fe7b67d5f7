/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Best-effort work: everything that is no gang member, on CPUs that no gang uses now.
 *
 * Fair among itself by virtual time: a thread's advances by the time it ran, over its
 * weight, and the least goes first. A thread that slept long starts a slice behind, not
 * with all that it missed. A thread that may run on one CPU only waits in that CPU's
 * queue, any other in one for all CPUs; the queue with the least head goes first.
 *
 * Known gap: a throttled CPU leaves its own queue waiting, whatever virtual time says.
 */
#ifndef RINGFENCE_BPF_BEST_EFFORT_H
#define RINGFENCE_BPF_BEST_EFFORT_H

#include "gangs.h"

static inline bool is_of_agent(const struct task_struct *p) {
    return agent_tgid && (u32)p->tgid == agent_tgid;
}

/* A thread of the agent that is of no gang. */
static inline bool is_agent(struct task_struct *p) {
    if (!is_of_agent(p))
        return false;
    struct thread_state *thread = thread_state_of(p);
    return !thread || !thread->priority;
}

static inline bool is_idle(const struct task_struct *p) {
    return !p->pid;
}

static inline bool is_of_higher_class(const struct task_struct *p) {
    return p->policy == CLASS_FIFO || p->policy == CLASS_ROUND_ROBIN || p->policy == CLASS_DEADLINE;
}

static inline bool is_scheduled_here(const struct task_struct *p) {
    return !is_idle(p) && !is_of_higher_class(p);
}

/* Kernels before 6.19 call dispatch though a higher class has work that comes first. */
const volatile u32 asked_before_higher_classes = 1;

/* Whether the CPU runs a thread of SCHED_FIFO or SCHED_RR next, whatever dispatch chooses. */
static inline bool runs_real_time_next(u32 cpu) {
    const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
    return rq && rq->rt.rt_queued;
}

/* Runs before members, and is not asked: of a higher class, or of the kernel. */
static inline bool outranks_members(const struct task_struct *p) {
    return !is_idle(p) && (!is_scheduled_here(p) || p->flags & TASK_IS_KERNEL_THREAD);
}

static inline bool is_best_effort(const struct task_struct *p, const struct thread_state *thread) {
    return (!thread || !thread->priority) && is_scheduled_here(p) &&
           !(p->flags & TASK_IS_KERNEL_THREAD) && !is_of_agent(p);
}

/* The weight of a thread of nice value 0. */
#define NORMAL_WEIGHT 100U

#define NO_HEAD 0xffffffffffffffffULL

/* No partition has these numbers. */
#define SHARED_QUEUE (PARTITION_QUEUES + (u64)RF_MAX_PARTITIONS * QUEUES_A_PLACE)
#define AGENT_QUEUE (SHARED_QUEUE + 1)

/* The greatest virtual time at which a thread started. */
static u64 best_effort_now;

static inline u64 best_effort_queue(u32 cpu) {
    return queue_of_cpu(cpu, RF_GANG_NO_PRIORITY);
}

static inline bool is_before(u64 time, u64 other) {
    return (s64)(time - other) < 0;
}

static inline void best_effort_started(struct task_struct *p, struct thread_state *thread) {
    if (is_before(best_effort_now, p->scx.dsq_vtime))
        best_effort_now = p->scx.dsq_vtime;
    thread->started_ns = bpf_ktime_get_ns();
}

/* The virtual time of a thread that runs; one that ran already when the scheduler came has not started. */
static inline u64 vtime_now(struct task_struct *p, struct thread_state *thread) {
    u64 ran_ns = thread->started_ns ? bpf_ktime_get_ns() - thread->started_ns : 0;
    u32 weight = p->scx.weight ? p->scx.weight : 1;
    return p->scx.dsq_vtime + ran_ns * NORMAL_WEIGHT / weight;
}

static inline void best_effort_stopped(struct task_struct *p, struct thread_state *thread) {
    p->scx.dsq_vtime = vtime_now(p, thread);
    /* What it ran until now is charged. */
    thread->started_ns = bpf_ktime_get_ns();
}

/* Idle CPUs that are tried before it is left to the next CPU that dispatches. */
#define IDLE_CPUS_TRIED 4

/* Wakes CPUs that may take the thread and are about to be idle. */
static inline void wake_idle_soon(struct task_struct *p) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++)
        if (bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
            scx_bpf_kick_cpu((s32)cpu, SCX_KICK_IDLE);
}

/* Has a CPU that no gang uses take the agent: nothing else is to keep it from ending a run. */
static inline void kick_for_agent(struct task_struct *p) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (!state || state->held_priority || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
            continue;
        kick(cpu);
        return;
    }
}

/* Wakes an idle CPU that may take the thread, if there is one. */
static inline void wake_idle_cpu(struct task_struct *p) {
    u32 only = only_cpu(p);
    if (only != ANY_CPU) {
        scx_bpf_kick_cpu((s32)only, SCX_KICK_IDLE);
        return;
    }
    for (u32 i = 0; i < IDLE_CPUS_TRIED; i++) {
        s32 idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
        if (idle < 0)
            break;
        /* A throttled one is kicked when its budget is refilled. */
        if (is_throttled((u32)idle))
            continue;
        scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
        return;
    }
    wake_idle_soon(p);
}

static inline void enqueue_best_effort(struct task_struct *p, u64 enq_flags) {
    u32 only = only_cpu(p);
    u64 queue = only == ANY_CPU ? SHARED_QUEUE : best_effort_queue(only);
    u64 vtime = p->scx.dsq_vtime;
    if (is_before(vtime, best_effort_now - SCX_SLICE_DEFAULT_NS))
        vtime = best_effort_now - SCX_SLICE_DEFAULT_NS;
    if (is_agent(p)) {
        scx_bpf_dsq_insert(p, AGENT_QUEUE, SCX_SLICE_DEFAULT_NS, enq_flags);
        kick_for_agent(p);
        return;
    }
    scx_bpf_dsq_insert_vtime(p, queue, SCX_SLICE_DEFAULT_NS, vtime, enq_flags);
    wake_idle_cpu(p);
}

/* Whether something waits that `cpu` might run, though it is going idle. */
static inline bool has_best_effort(u32 cpu) {
    if (scx_bpf_dsq_nr_queued(AGENT_QUEUE) > 0)
        return true;
    return !is_throttled(cpu) && (scx_bpf_dsq_nr_queued(SHARED_QUEUE) > 0 ||
                                  scx_bpf_dsq_nr_queued(best_effort_queue(cpu)) > 0);
}

/* The least virtual time of a queue. */
static inline u64 head_of(u64 queue) {
    struct bpf_iter_scx_dsq iterator;
    u64 vtime = NO_HEAD;
    bpf_iter_scx_dsq_new(&iterator, queue, 0);
    struct task_struct *p = bpf_iter_scx_dsq_next(&iterator);
    if (p)
        vtime = p->scx.dsq_vtime;
    bpf_iter_scx_dsq_destroy(&iterator);
    return vtime;
}

/*
 * Chooses what runs on `cpu` next; whether that is `prev`, which ran until now and may go
 * on, unless NULL.
 */
static inline bool dispatch_best_effort(u32 cpu, struct task_struct *prev) {
    u64 own = head_of(best_effort_queue(cpu));
    u64 shared = head_of(SHARED_QUEUE);
    bool own_first = own != NO_HEAD && (shared == NO_HEAD || is_before(own, shared));
    u64 first = own_first ? best_effort_queue(cpu) : SHARED_QUEUE;
    u64 second = own_first ? SHARED_QUEUE : best_effort_queue(cpu);
    u64 head = own_first ? own : shared;
    struct thread_state *thread = prev ? thread_state_of(prev) : NULL;
    bool prev_first = thread && (head == NO_HEAD || is_before(vtime_now(prev, thread), head));
    if (!prev_first && (scx_bpf_dsq_move_to_local(first) || scx_bpf_dsq_move_to_local(second)))
        return false;
    return thread;
}

#endif
