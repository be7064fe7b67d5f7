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
#include "best_effort.h"
#include "control.h"

char _license[] SEC("license") = "GPL";

/* Whether a thread may run on a CPU of the partition. */
static inline bool fits(struct task_struct *p, u32 partition) {
    u32 cpu;
    if (is_pinned(p)) {
        struct cpu_state *state = cpu_state_of((u32)scx_bpf_task_cpu(p));
        return state && state->in_partition && state->partition == partition;
    }
    if ((u32)p->nr_cpus_allowed >= cpu_count)
        return true;
    bpf_for(cpu, 0, cpu_count) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (state && state->in_partition && state->partition == partition &&
            bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
            return true;
    }
    return false;
}

/*
 * The gang that a thread counts for when it becomes runnable now. One that no CPU of its
 * partition could ever run would keep all gangs below it waiting: it counts for none.
 */
static inline struct membership effective(struct task_struct *p) {
    struct membership none = {0};
    struct membership *member = bpf_task_storage_get(&memberships, p, 0, 0);
    if (!member || !rf_gang_is_priority(member->priority) || !fits(p, member->partition))
        return none;
    return *member;
}

static inline u32 priority_in(struct task_struct *p, u32 partition) {
    struct thread_state *thread = thread_state_of(p);
    return thread && thread->partition == partition ? thread->priority : RF_GANG_NO_PRIORITY;
}

SEC("struct_ops/gang_select_cpu")
s32 BPF_PROG(gang_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags) {
    bool is_idle;
    /* A CPU only to be queued from: what may run where is dispatch's to decide. */
    return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
}

SEC("struct_ops/gang_runnable")
void BPF_PROG(gang_runnable, struct task_struct *p, u64 enq_flags) {
    struct thread_state *thread = thread_state_of(p);
    if (!thread)
        return;
    struct membership member = effective(p);
    thread->partition = member.partition;
    thread->priority = member.priority;
    thread->preempted = 0;
    if (!member.priority)
        return;
    count_runnable(member.partition, member.priority, true);
    /* It joined a gang while it runs: whether it may go on is dispatch's to decide. */
    if (scx_bpf_task_running(p))
        scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

SEC("struct_ops/gang_quiescent")
void BPF_PROG(gang_quiescent, struct task_struct *p, u64 deq_flags) {
    struct thread_state *thread = thread_state_of(p);
    if (!thread || !thread->priority)
        return;
    count_runnable(thread->partition, thread->priority, false);
    thread->priority = RF_GANG_NO_PRIORITY;
}

SEC("struct_ops/gang_enqueue")
void BPF_PROG(gang_enqueue, struct task_struct *p, u64 enq_flags) {
    struct thread_state *thread = thread_state_of(p);
    if (p->flags & TASK_IS_KERNEL_THREAD) {
        u64 preempt = enq_flags & ENQ(WAKEUP) ? ENQ(PREEMPT) : 0;
        scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DEFAULT_NS, enq_flags | preempt);
    } else if (thread && thread->priority) {
        enqueue_member(p, thread, enq_flags);
    } else {
        enqueue_best_effort(p, enq_flags);
    }
}

SEC("struct_ops/gang_dispatch")
void BPF_PROG(gang_dispatch, s32 cpu, struct task_struct *prev) {
    struct cpu_state *state = cpu_state_of((u32)cpu);
    if (!state)
        return;
    bool runnable = prev && prev->scx.flags & SCX_TASK_QUEUED;
    if (runnable && prev->flags & TASK_IS_KERNEL_THREAD) {
        prev->scx.slice = SCX_SLICE_DEFAULT_NS;
        return;
    }
    struct thread_state *thread = runnable ? thread_state_of(prev) : NULL;
    u32 priority = thread ? thread->priority : RF_GANG_NO_PRIORITY;
    if (state->in_partition && dispatch_gang(state, (u32)cpu, prev, priority) != GANG_NONE)
        return;
    if (scx_bpf_dsq_move_to_local(AGENT_QUEUE) || !may_use_memory((u32)cpu))
        return;
    dispatch_best_effort((u32)cpu, thread && !priority ? prev : NULL);
}

SEC("struct_ops/gang_running")
void BPF_PROG(gang_running, struct task_struct *p) {
    struct thread_state *thread = thread_state_of(p);
    if (thread && !thread->priority)
        best_effort_started(p, thread);
}

SEC("struct_ops/gang_stopping")
void BPF_PROG(gang_stopping, struct task_struct *p, bool runnable) {
    struct thread_state *thread = thread_state_of(p);
    if (!thread)
        return;
    thread->preempted = runnable;
    /* With a rest of its slice it would come back past dispatch, whatever happened meanwhile. */
    if (runnable && !(p->flags & TASK_IS_KERNEL_THREAD))
        p->scx.slice = 0;
    if (!thread->priority)
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
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count && !error; cpu++)
        error = scx_bpf_create_dsq(best_effort_queue(cpu), -1);
    return error;
}

SEC("struct_ops/gang_exit")
void BPF_PROG(gang_exit, struct scx_exit_info *info) {
    note_exit(info);
}

/* The kernel leaves `prev` for `next`: the one instant from which `prev` executes no more. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    u32 cpu = bpf_get_smp_processor_id();
    struct cpu_state *state = cpu_state_of(cpu);
    if (state && state->in_partition)
        switched(state, cpu, priority_in(next, state->partition));
    meter_switch(cpu, is_best_effort(next));
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
    .running = (void *)gang_running,
    .stopping = (void *)gang_stopping,
    .init_task = (void *)gang_init_task,
    .init = (void *)gang_init,
    .exit = (void *)gang_exit,
    /* Every thread that may run next comes to enqueue; by default these go straight to a CPU. */
    .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,
    .timeout_ms = 30000,
    .name = "ringfence",
};
