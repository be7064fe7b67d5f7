/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Kernel threads of the normal class: they outrank gangs, and threads of higher classes outrank
 * them. One that may run on one CPU only waits in that CPU's queue, any other in one for all
 * CPUs: where a higher class keeps the CPU that it was meant for, another takes it.
 */
#ifndef RINGFENCE_BPF_KERNEL_THREADS_H
#define RINGFENCE_BPF_KERNEL_THREADS_H

#include "best_effort.h"

/* No other queue has this number. */
#define KERNEL_QUEUE (AGENT_QUEUE + 1)

/* Kernel threads that wait in it, or are about to. */
static u32 kernel_threads_waiting;

static inline u64 kernel_queue_of(u32 cpu) {
    return queue_of_cpu(cpu, KERNEL_THREADS);
}

/* Whether a thread of a higher class runs on the CPU, or comes next. */
static inline bool is_outranked(u32 cpu) {
    const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
    if (!rq)
        return false;
    const struct task_struct *running = rq->curr;
    return rq->rt.rt_queued || (running && running->policy == CLASS_DEADLINE);
}

/*
 * A CPU that the thread may use and no higher class does: one that runs no member if there is
 * one, else `otherwise` if that is such a CPU; `otherwise` if there is none.
 */
static inline s32 cpu_for_kernel_thread(struct task_struct *p, s32 otherwise) {
    s32 with_member = is_outranked((u32)otherwise) ? -1 : otherwise;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (!state || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr) || is_outranked(cpu))
            continue;
        if (!state->held_priority)
            return (s32)cpu;
        if (with_member < 0)
            with_member = (s32)cpu;
    }
    return with_member < 0 ? otherwise : with_member;
}

/* How many wait for that CPU alone, or for any. */
static inline u32 *waiting_for(u32 cpu) {
    struct cpu_state *state = cpu == ANY_CPU ? NULL : cpu_state_of(cpu);
    return state ? &state->kernel_threads_waiting : &kernel_threads_waiting;
}

/* A kernel thread runs, or no longer can: it waits no more. */
static inline void end_kernel_wait(struct thread_state *thread) {
    if (!thread->waits_for_cpu)
        return;
    __sync_fetch_and_sub(waiting_for(thread->waits_for_cpu - 1), 1);
    thread->waits_for_cpu = 0;
}

/*
 * It is counted before it is in its queue, which it is only when the kernel's call of enqueue has ended,
 * and until it runs: who finds that none waits need not look.
 */
static inline void begin_kernel_wait(struct thread_state *thread, u32 cpu) {
    end_kernel_wait(thread);
    thread->waits_for_cpu = cpu + 1;
    __sync_fetch_and_add(waiting_for(cpu), 1);
}

static inline void enqueue_kernel_thread(struct task_struct *p, struct thread_state *thread,
                                         u64 enq_flags) {
    u32 only = only_cpu(p);
    s32 cpu = only == ANY_CPU ? scx_bpf_task_cpu(p) : (s32)only;
    u64 queue = only == ANY_CPU ? KERNEL_QUEUE : kernel_queue_of(only);
    begin_kernel_wait(thread, only);
    scx_bpf_dsq_insert(p, queue, SCX_SLICE_DEFAULT_NS, enq_flags);
    if (only == ANY_CPU && is_outranked((u32)cpu))
        cpu = cpu_for_kernel_thread(p, cpu);
    else if (is_current(p))
        /* It gave way to another kernel thread, and dispatch is called after that. */
        return;
    kick((u32)cpu);
}

/* Who was told to take the first of the shared queue may not have: another CPU than `cpu` is. */
static inline void pass_on_kernel_threads(u32 cpu) {
    struct bpf_iter_scx_dsq iterator;
    s32 other = (s32)cpu;
    bpf_iter_scx_dsq_new(&iterator, KERNEL_QUEUE, 0);
    struct task_struct *p = bpf_iter_scx_dsq_next(&iterator);
    if (p)
        other = cpu_for_kernel_thread(p, (s32)cpu);
    bpf_iter_scx_dsq_destroy(&iterator);
    if (other != (s32)cpu)
        kick((u32)other);
}

/* Whether one has been found for the CPU, to run next. Not to look saves 200 instructions a queue. */
static inline bool dispatch_kernel_thread(struct cpu_state *state, u32 cpu) {
    return (state->kernel_threads_waiting && scx_bpf_dsq_move_to_local(kernel_queue_of(cpu))) ||
           (kernel_threads_waiting && scx_bpf_dsq_move_to_local(KERNEL_QUEUE));
}

#endif
