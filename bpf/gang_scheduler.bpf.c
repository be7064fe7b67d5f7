/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A sched_ext scheduler that runs one real-time gang at a time in each partition, and
 * best-effort work on the CPUs that the gang leaves idle.
 *
 * In full-switch mode it schedules every thread of the kernel's normal class. Most
 * important first: kernel threads, the active gang, best-effort work. Threads of the
 * real-time and deadline classes never come here and outrank all of it.
 *
 * Fail-safe: when the program that loaded it ends, for whatever reason, the kernel takes
 * all threads back; so it does when a CPU comes or goes (no cpu_online here on purpose).
 */
#include "control.h"
#include "groups.h"
#include "kernel_threads.h"

char _license[] SEC("license") = "GPL";

static inline bool is_of_partition(u32 cpu, u32 partition) {
    struct cpu_state *state = cpu_state_of(cpu);
    return state && state->in_partition && state->partition == partition;
}

/* Whether a thread may run on a CPU of the partition. */
static inline bool fits(struct task_struct *p, u32 partition) {
    u32 only = only_cpu(p);
    u32 cpu;
    if (only != ANY_CPU)
        return is_of_partition(only, partition);
    bpf_for(cpu, 0, cpu_count) {
        if (is_of_partition(cpu, partition) && bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
            return true;
    }
    return false;
}

/*
 * The gang that a thread counts for now. One that no CPU of its partition could ever run
 * would keep all gangs below it waiting: it counts for none.
 */
static inline struct membership effective(struct task_struct *p) {
    struct membership none = {0};
    struct membership *member = bpf_task_storage_get(&memberships, p, 0, 0);
    if (!member || !rf_gang_is_priority(member->priority) || p->flags & TASK_IS_KERNEL_THREAD)
        return none;
    struct partition *partition = partition_of(member->partition);
    if (!partition || !partition->has_queues[RF_INDEX(member->priority, RF_GANG_PRIORITIES)] ||
        !fits(p, member->partition))
        return none;
    return *member;
}

/* A runnable thread counts for the gang that it is of now, and no more for another. */
static inline void adopt(struct task_struct *p, struct thread_state *thread) {
    struct membership member = effective(p);
    if (thread->priority == member.priority && thread->partition == member.partition)
        return;
    if (thread->priority)
        count_runnable(thread->partition, thread->priority, false);
    thread->partition = member.partition;
    thread->priority = member.priority;
    if (member.priority)
        count_runnable(member.partition, member.priority, true);
}

SEC("struct_ops/gang_select_cpu")
s32 BPF_PROG(gang_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags) {
    bool is_idle = false;
    /* An idle CPU, or one with best-effort work, rather than one where a member runs. */
    if (p->flags & TASK_IS_KERNEL_THREAD) {
        s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
        return is_idle ? cpu : cpu_for_kernel_thread(p, cpu);
    }
    /* A CPU only to be queued from: what may run where is dispatch's to decide. */
    return prev_cpu;
}

/* It comes from another class, or the scheduler came: what was noted of it is of no meaning. */
SEC("struct_ops/gang_enable")
void BPF_PROG(gang_enable, struct task_struct *p) {
    struct thread_state *thread = thread_state_of(p);
    if (!thread)
        return;
    thread->started_ns = 0;
    thread->waits_since_ns = 0;
}

SEC("struct_ops/gang_runnable")
void BPF_PROG(gang_runnable, struct task_struct *p, u64 enq_flags) {
    struct thread_state *thread = thread_state_of(p);
    if (!thread)
        return;
    thread->preempted = 0;
    /* A change of its properties is no end of its wait. */
    if (enq_flags & ENQ(WAKEUP) || !thread->waits_since_ns)
        thread->waits_since_ns = bpf_ktime_get_ns();
    adopt(p, thread);
    if (!scx_bpf_task_running(p))
        return;
    /* It runs on without a switch, perhaps as best-effort work from now on. */
    thread->started_ns = bpf_ktime_get_ns();
    /* It joined or left a gang: whether it may go on is dispatch's to decide. */
    kick((u32)scx_bpf_task_cpu(p));
}

SEC("struct_ops/gang_quiescent")
void BPF_PROG(gang_quiescent, struct task_struct *p, u64 deq_flags) {
    struct thread_state *thread = thread_state_of(p);
    if (!thread)
        return;
    end_kernel_wait(thread);
    if (!thread->priority)
        return;
    count_runnable(thread->partition, thread->priority, false);
    thread->priority = RF_GANG_NO_PRIORITY;
}

SEC("struct_ops/gang_enqueue")
void BPF_PROG(gang_enqueue, struct task_struct *p, u64 enq_flags) {
    struct thread_state *thread = thread_state_of(p);
    /* gang_init_task has seen to it that each has one. */
    if (!thread) {
        enqueue_best_effort(p, enq_flags);
        return;
    }
    if (p->flags & TASK_IS_KERNEL_THREAD) {
        enqueue_kernel_thread(p, thread, enq_flags);
        return;
    }
    /* What CPUs it may run on may have changed since it became runnable, unless that was just now. */
    if (!(enq_flags & ENQ(WAKEUP)))
        adopt(p, thread);
    if (thread->priority)
        enqueue_member(p, thread, enq_flags);
    else
        enqueue_best_effort(p, enq_flags);
}

/* `prev` runs on, without a switch that would tell what runs now. */
static inline void go_on(struct cpu_state *state, u32 cpu, struct task_struct *prev, u32 priority) {
    prev->scx.slice = priority ? SCX_SLICE_ENDLESS : SCX_SLICE_DEFAULT_NS;
    if (state->in_partition)
        switched(state, cpu, priority);
    meter_switch(cpu, is_best_effort(prev, thread_state_of(prev)));
    /* Who told it while it chose has ended the old slice. */
    if (take_told(state))
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
}

SEC("struct_ops/gang_dispatch")
void BPF_PROG(gang_dispatch, s32 cpu, struct task_struct *prev) {
    struct cpu_state *state = cpu_state_of((u32)cpu);
    if (!state)
        return;
    /* Before anything is looked at: who is told from now on may have come too late for it. */
    take_told(state);
    state->chosen = 0;
    /* Who is chosen now would start after it without being asked again, beside whatever gang. */
    if (asked_before_higher_classes && runs_real_time_next((u32)cpu))
        return;
    if (prev && !(prev->scx.flags & SCX_TASK_QUEUED))
        prev = NULL;
    if (dispatch_kernel_thread(state, (u32)cpu))
        return;
    if (prev && prev->flags & TASK_IS_KERNEL_THREAD) {
        prev->scx.slice = SCX_SLICE_DEFAULT_NS;
        return;
    }
    struct thread_state *thread = prev ? thread_state_of(prev) : NULL;
    u32 priority = priority_in(thread, state->partition);
    if (state->overdue && give_best_effort_instant(state, (u32)cpu))
        return;
    if (state->in_partition) {
        if (state->demands)
            demand_instants(state, (u32)cpu);
        u32 floor = priority && thread && thread->yielded ? priority - 1 : priority;
        enum gang_outcome outcome = choose_member(state->partition, (u32)cpu, priority, floor);
        if (outcome == GANG_GOES_ON && prev && thread) {
            thread->yielded = 0;
            go_on(state, (u32)cpu, prev, priority);
        }
        if (outcome == GANG_RUNS || outcome == GANG_GOES_ON ||
            give_instant(state->partition, (u32)cpu) || outcome == GANG_SOON)
            return;
    }
    if (scx_bpf_dsq_move_to_local(AGENT_QUEUE))
        return;
    bool goes_on = prev && is_agent(prev);
    if (!goes_on && may_use_memory((u32)cpu))
        goes_on =
            dispatch_best_effort((u32)cpu, prev && is_best_effort(prev, thread) ? prev : NULL);
    if (goes_on && prev)
        go_on(state, (u32)cpu, prev, RF_GANG_NO_PRIORITY);
}

/*
 * A thread of a higher class takes the CPU for which somebody has just been chosen, who is to be
 * chosen again after it. Kernels that choose only when no higher class has work are loaded without
 * this.
 */
SEC("struct_ops/gang_cpu_release")
void BPF_PROG(gang_cpu_release, s32 cpu, struct scx_cpu_release_args *args) {
    scx_bpf_reenqueue_local();
}

/* As SCHED_FIFO does: it goes behind its equals. */
SEC("struct_ops/gang_yield")
bool BPF_PROG(gang_yield, struct task_struct *from, struct task_struct *to) {
    struct thread_state *thread = thread_state_of(from);
    if (thread)
        thread->yielded = 1;
    from->scx.slice = 0;
    return false;
}

SEC("struct_ops/gang_stopping")
void BPF_PROG(gang_stopping, struct task_struct *p, bool runnable) {
    struct thread_state *thread = thread_state_of(p);
    if (!thread)
        return;
    thread->preempted = runnable && !thread->yielded;
    thread->yielded = 0;
    thread->waits_since_ns = begin_wait_ns(p, thread);
    /* With a rest of its slice it would come back past dispatch, whatever happened meanwhile. */
    if (runnable)
        p->scx.slice = 0;
    if (is_best_effort(p, thread))
        best_effort_stopped(p, thread);
}

SEC("struct_ops.s/gang_init_task")
s32 BPF_PROG(gang_init_task, struct task_struct *p, struct scx_init_task_args *args) {
    struct thread_state *thread =
        bpf_task_storage_get(&thread_states, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    struct membership *member =
        bpf_task_storage_get(&memberships, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread || !member)
        return -ENOMEM;
    if (!args->fork)
        return 0;
    struct membership *parent =
        bpf_task_storage_get(&memberships, bpf_get_current_task_btf(), 0, 0);
    if (parent)
        *member = *parent;
    return 0;
}

SEC("struct_ops.s/gang_init")
s32 BPF_PROG(gang_init) {
    s32 error = scx_bpf_create_dsq(SHARED_QUEUE, -1);
    if (!error)
        error = scx_bpf_create_dsq(AGENT_QUEUE, -1);
    if (!error)
        error = scx_bpf_create_dsq(KERNEL_QUEUE, -1);
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count && !error; cpu++)
        error = scx_bpf_create_dsq(best_effort_queue(cpu), -1);
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count && !error; cpu++)
        error = scx_bpf_create_dsq(kernel_queue_of(cpu), -1);
    return error;
}

SEC("struct_ops/gang_exit")
void BPF_PROG(gang_exit, struct scx_exit_info *info) {
    note_exit(info);
}

/*
 * Whether the CPU must think again, though it has just done so. After a thread of a higher
 * class it does that anyway.
 */
static inline bool must_think_again(struct cpu_state *state, u32 cpu, struct task_struct *next) {
    if (is_of_higher_class(next))
        return false;
    return take_told(state) || (is_idle(next) && has_best_effort(cpu));
}

/* The kernel leaves `prev` for `next`: the one instant from which `prev` executes no more. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    u32 cpu = bpf_get_smp_processor_id();
    struct cpu_state *state = cpu_state_of(cpu);
    struct thread_state *thread = thread_state_of(next);
    if (!state)
        return 0;
    u32 priority = priority_in(thread, state->partition);
    if (state->in_partition && !is_of_instant(state, cpu, next, thread))
        switched(state, cpu, priority);
    /* Nobody knows for how long it runs: gangs are not to wait for it. */
    if (state->demands && outranks_members(next))
        end_demand(state, cpu);
    if (state->brief && !priority && !outranks_members(next))
        end_brief(state, cpu, next, thread);
    if (thread)
        end_kernel_wait(thread);
    /* Perhaps before this CPU came to take a kernel thread. */
    if (is_of_higher_class(next) && kernel_threads_waiting)
        pass_on_kernel_threads(cpu);
    bool best_effort = is_best_effort(next, thread);
    meter_switch(cpu, best_effort);
    if (thread && best_effort)
        best_effort_started(next, thread);
    if (must_think_again(state, cpu, next))
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
    return 0;
}

SEC("perf_event")
int on_read_quantum(struct bpf_perf_event_data *context) {
    meter_overflow(context, false);
    return 0;
}

SEC("perf_event")
int on_write_quantum(struct bpf_perf_event_data *context) {
    meter_overflow(context, true);
    return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops gang_scheduler = {
    .select_cpu = (void *)gang_select_cpu,
    .enqueue = (void *)gang_enqueue,
    .dispatch = (void *)gang_dispatch,
    .runnable = (void *)gang_runnable,
    .quiescent = (void *)gang_quiescent,
    .yield = (void *)gang_yield,
    .stopping = (void *)gang_stopping,
    .cpu_release = (void *)gang_cpu_release,
    .enable = (void *)gang_enable,
    .init_task = (void *)gang_init_task,
    .init = (void *)gang_init,
    .exit = (void *)gang_exit,
    /* Every thread that may run next comes to enqueue; by default these go straight to a CPU. */
    .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
    .timeout_ms = 30000,
    .name = "ringfence",
};
