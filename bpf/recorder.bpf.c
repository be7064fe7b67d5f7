/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Records which watched threads run on which CPU and when they wake: what the verdict on
 * a run rests on. It knows nothing of schedulers and works on any kernel with BTF.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

enum thread_event_kind {
    THREAD_ON = 1,
    THREAD_PREEMPTED, /* left the CPU, and is still runnable */
    THREAD_SLEEPS,    /* left the CPU */
    THREAD_WOKE,
    THREAD_ENDED,
};

struct thread_event {
    u64 time_ns; /* CLOCK_MONOTONIC */
    u32 kind;
    u32 cpu;
    u32 tid;
    u32 tgid;
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} thread_events SEC(".maps");

/* Processes whose threads are recorded. What they fork is, too. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, u32);
    __type(value, u8);
} watched SEC(".maps");

/* The same of members of gangs, for an agent that acts on it at once and so is woken. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} member_events SEC(".maps");

/* Threads that are told there. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, u32);
    __type(value, u8);
} members SEC(".maps");

/* Events that found no room, and processes that could not be watched. */
u64 lost_thread_events;

/* The same of what members did. */
u64 lost_member_events;

static inline bool is_watched(struct task_struct *p) {
    u32 tgid = (u32)p->tgid;
    return bpf_map_lookup_elem(&watched, &tgid);
}

/*
 * Only for what changes who is runnable: an agent that takes a CPU from a member and gives it
 * back would wake itself for ever. The rest lies there until it looks.
 */
static inline u64 wakes_agent(u32 kind) {
    bool wakes = kind == THREAD_WOKE || kind == THREAD_SLEEPS || kind == THREAD_ENDED;
    return wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* The agent measures by the times that the record has: both are told the same. */
static inline void note(struct task_struct *p, u32 kind) {
    struct thread_event event = {
        .time_ns = bpf_ktime_get_ns(),
        .kind = kind,
        .cpu = bpf_get_smp_processor_id(),
        .tid = (u32)p->pid,
        .tgid = (u32)p->tgid,
    };
    if (bpf_ringbuf_output(&thread_events, &event, sizeof(event), BPF_RB_NO_WAKEUP))
        __sync_fetch_and_add(&lost_thread_events, 1);
    if (bpf_map_lookup_elem(&members, &event.tid) &&
        bpf_ringbuf_output(&member_events, &event, sizeof(event), wakes_agent(kind)))
        __sync_fetch_and_add(&lost_member_events, 1);
}

/* Before Linux 5.14 it was called `state`. */
struct task_struct___old {
    long state;
} __attribute__((preserve_access_index));

static inline bool is_runnable(struct task_struct *p) {
    if (bpf_core_field_exists(p->__state))
        return p->__state == 0;
    return BPF_CORE_READ((struct task_struct___old *)(void *)p, state) == 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(record_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    if (is_watched(prev))
        note(prev, preempt || is_runnable(prev) ? THREAD_PREEMPTED : THREAD_SLEEPS);
    if (is_watched(next))
        note(next, THREAD_ON);
    return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(record_wakeup, struct task_struct *p) {
    if (is_watched(p))
        note(p, THREAD_WOKE);
    return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(record_first_wakeup, struct task_struct *p) {
    if (is_watched(p))
        note(p, THREAD_WOKE);
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(record_fork, struct task_struct *parent, struct task_struct *child) {
    u32 tgid = (u32)child->tgid;
    u8 one = 1;
    if (is_watched(parent) && bpf_map_update_elem(&watched, &tgid, &one, 0))
        __sync_fetch_and_add(&lost_thread_events, 1);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(record_exit, struct task_struct *p) {
    if (is_watched(p))
        note(p, THREAD_ENDED);
    return 0;
}

/* The first thread of a process is freed last; another process may get its number then. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(record_free, struct task_struct *p) {
    u32 tgid = (u32)p->tgid;
    if (p->pid == p->tgid)
        bpf_map_delete_elem(&watched, &tgid);
    return 0;
}
