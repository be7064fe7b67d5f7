/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the scheduler knows: of partitions, of CPUs and of threads.
 *
 * A partition's lock guards its policy state and the two sets beside it. It is taken
 * under a runqueue lock, never the other way round, and nothing but the policy is called
 * while it is held: CPUs are kicked after it was released.
 */
#ifndef RINGFENCE_BPF_STATE_H
#define RINGFENCE_BPF_STATE_H

#include "kernel.h"
#include "ringfence/gang.h"

struct partition {
    struct bpf_spin_lock lock;
    u32 configured;
    struct rf_gang_partition gang;
    /*
     * CPUs that gave their lock back and have not switched yet: what they ran may still
     * execute, so nobody else starts anything. Those who ask meanwhile ask again then.
     */
    struct rf_cpu_set leaving;
    struct rf_cpu_set retry;
    u32 leaving_priority; /* that they all ran */
    /* That CPU is to have an instant (instants.h): nobody else starts anything until it had. */
    u32 demanded;
    u32 demanding_cpu;
    /* Priorities that have queues, in no order; and which they are. */
    u32 priorities;
    u8 priority[RF_GANG_PRIORITIES];
    u8 has_queues[RF_GANG_PRIORITIES];
};

/* Written on its own CPU alone, but for `demands`, `overdue` and `told`. */
struct cpu_state {
    u32 in_partition; /* 0: gangs never run here */
    u32 partition;
    /* Of the gang that this CPU holds the lock for, or none. */
    u32 held_priority;
    /* A gang member runs here, as the policy knows. */
    u32 running;
    u32 leaving;
    /* Dispatch has handed a member to the kernel, and it has not started yet. */
    u32 chosen;
    /* An instant was given (instants.h), and its thread has not started yet. */
    u32 instant;
    /* A member has waited so long for it that it is to demand an instant. */
    u32 demands;
    /* Best-effort work has. */
    u32 overdue;
    /* It was given an instant, and has not started yet. */
    u32 brief;
    /* To think again, and has not begun to since. */
    u32 told;
    /* Kernel threads that wait for it alone, or are about to (kernel_threads.h). */
    u32 kernel_threads_waiting;
};

/* A control group: its number, which is that of its folder, is one of its hierarchy alone. */
struct group {
    u64 id;
    u32 hierarchy; /* 0: that of version 2 */
    u32 unused;
};

/* Which gang a thread belongs to, priority 0 if to none; user space writes it and children inherit it. */
struct membership {
    u32 partition;
    u32 priority;
    struct group group; /* by which it does; of number 0: by none */
};

struct thread_state {
    /* The gang that it counts for while it is runnable; priority 0 if for none. */
    u32 partition;
    u32 priority;
    u32 preempted;  /* it stopped while runnable, and not because it yielded */
    u32 yielded;    /* and has not stopped since */
    u64 started_ns; /* for its share of best-effort time */
    /* When it became runnable or ran last; of no meaning while it runs or sleeps. */
    u64 waits_since_ns;
    /* Instants that it has had as a reader of RCU, one after the other. */
    u32 reader_instants;
    /* A kernel thread's: 1 + the CPU that it waits for, or ANY_CPU; 0 if it does not wait. */
    u32 waits_for_cpu;
};

/* Counted since the scheduler was loaded; what must stay 0 is marked so. */
struct counters {
    u64 refused_starts; /* 0: a member started without the lock */
    u64 policy_errors;  /* 0: the policy refused an event */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_PARTITIONS);
    __type(key, u32);
    __type(value, struct partition);
} partitions SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_CPUS);
    __type(key, u32);
    __type(value, struct cpu_state);
} cpu_states SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct membership);
} memberships SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread_state);
} thread_states SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct counters);
} counters SEC(".maps");

/*
 * The process that records and controls: its threads go before other best-effort work and
 * are never throttled, so that a run that starves everything else can still be ended.
 */
u32 agent_tgid;

/* CPU numbers of this machine lie below it; set before the programs are loaded. */
const volatile u32 cpu_count = RF_MAX_CPUS;

static inline struct partition *partition_of(u32 index) {
    struct partition *partition = bpf_map_lookup_elem(&partitions, &index);
    return partition && partition->configured ? partition : NULL;
}

static inline struct cpu_state *cpu_state_of(u32 cpu) {
    return bpf_map_lookup_elem(&cpu_states, &cpu);
}

static inline struct thread_state *thread_state_of(struct task_struct *p) {
    return bpf_task_storage_get(&thread_states, p, 0, 0);
}

/* Of the gang of that partition that the thread counts for, or none. */
static inline u32 priority_in(const struct thread_state *thread, u32 partition) {
    return thread && thread->partition == partition ? thread->priority : RF_GANG_NO_PRIORITY;
}

static inline struct counters *counted(void) {
    u32 zero = 0;
    return bpf_map_lookup_elem(&counters, &zero);
}

/*
 * Makes a CPU think again, whatever runs there: the kernel ends the slice of that and calls
 * dispatch. A kick that comes while dispatch has dropped the lock of its runqueue does
 * nothing, so the CPU looks at `told` when it has switched.
 */
static inline void kick(u32 cpu) {
    struct cpu_state *state = cpu_state_of(cpu);
    if (!state)
        return;
    __sync_lock_test_and_set(&state->told, 1);
    scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
}

/*
 * Whether the CPU was told since this was last asked. It thinks again once for that, or it
 * would do nothing else where the kernel does not call dispatch: while it goes offline.
 */
static inline bool take_told(struct cpu_state *state) {
    return __sync_lock_test_and_set(&state->told, 0);
}

/* What was written before it is seen by whoever writes what is read after it. */
static inline void full_barrier(struct cpu_state *state) {
    __sync_fetch_and_or(&state->told, 0);
}

/* Kicks each CPU of the set. Global, so that it is verified once; answers 0. */
__attribute__((noinline)) int kick_all(const struct rf_cpu_set *cpus) {
    if (!cpus)
        return 0;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++)
        if (rf_cpu_set_contains(cpus, cpu))
            kick(cpu);
    return 0;
}

/*
 * The same of a set that most often is empty: not to call saves 40 instructions. Not of one that a loop
 * has filled, as the verifier would then follow each way through that.
 */
static inline void kick_any(const struct rf_cpu_set *cpus) {
    if (!rf_cpu_set_is_empty(cpus))
        kick_all(cpus);
}

/* Has each CPU of the set look for work if it is idle. Global: see kick_all. */
__attribute__((noinline)) int wake_all(const struct rf_cpu_set *cpus) {
    if (!cpus)
        return 0;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++)
        if (rf_cpu_set_contains(cpus, cpu))
            scx_bpf_kick_cpu((s32)cpu, SCX_KICK_IDLE);
    return 0;
}

#endif
