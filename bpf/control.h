/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What user space tells the scheduler: programs that it runs itself (BPF_PROG_TEST_RUN).
 * Each answers 0, or a negative errno and changes nothing.
 */
#ifndef RINGFENCE_BPF_CONTROL_H
#define RINGFENCE_BPF_CONTROL_H

#include "instants.h"

/* Why the kernel took all threads back. */
struct exit_note {
    s32 kind; /* 0: it has not */
    s64 code;
    char reason[128];
    char message[1024];
};

struct exit_note exit_note;

static inline void note_exit(struct scx_exit_info *info) {
    bpf_probe_read_kernel_str(exit_note.reason, sizeof(exit_note.reason), info->reason);
    bpf_probe_read_kernel_str(exit_note.message, sizeof(exit_note.message), info->msg);
    exit_note.code = info->exit_code;
    exit_note.kind = (s32)info->kind;
}

struct new_partition {
    u32 index;
    u32 unused;
    struct rf_cpu_set cpus;
    u64 limit_ns; /* of the share limit; 0: none */
    u64 window_ns;
    u64 origin_ns; /* when the first window begins; not in the future */
};

struct new_priority {
    u32 partition;
    u32 priority;
    struct rf_budget tolerance; /* events a period */
};

struct new_domain {
    struct rf_cpu_set cpus;
    u64 by_time; /* 1: time is used, and no counter */
    u64 period_ns;
    u64 sample_every; /* periods from one report of use to the next; 0: none */
};

/* Whether each CPU of the set exists and is of no partition yet. */
static inline bool are_free(const struct rf_cpu_set *cpus) {
    u32 cpu;
    bpf_for(cpu, 0, RF_MAX_CPUS) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (rf_cpu_set_contains(cpus, RF_INDEX(cpu, RF_MAX_CPUS)) &&
            (cpu >= cpu_count || !state || state->in_partition))
            return false;
    }
    return true;
}

/* What instants need: again is no error. */
static inline bool prepare_instants(void) {
    u32 zero = 0;
    struct look_timer *look = bpf_map_lookup_elem(&look_timers, &zero);
    if (!look)
        return false;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct instant_timer *timer = bpf_map_lookup_elem(&instant_timers, &cpu);
        if (!timer)
            return false;
        s64 error = bpf_timer_init(&timer->timer, &instant_timers, CLOCK_MONOTONIC);
        if ((error && error != -EBUSY) ||
            bpf_timer_set_callback(&timer->timer, instant_timer_fired))
            return false;
    }
    s64 error = bpf_timer_init(&look->timer, &look_timers, CLOCK_MONOTONIC);
    return (!error || error == -EBUSY) && !bpf_timer_set_callback(&look->timer, look_timer_fired) &&
           !bpf_timer_start(&look->timer, LOOK_NS, 0);
}

/* Before the scheduler is attached: nothing of the partition runs yet. */
SEC("syscall")
int add_partition(struct new_partition *new) {
    u32 index = new->index;
    struct rf_cpu_set cpus = new->cpus;
    u64 limit_ns = new->limit_ns;
    u64 window_ns = new->window_ns;
    u64 origin_ns = new->origin_ns;
    struct partition *partition = bpf_map_lookup_elem(&partitions, &index);
    struct share_timer *timer = bpf_map_lookup_elem(&share_timers, &index);
    if (!partition || !timer || !are_free(&cpus) || rf_cpu_set_is_empty(&cpus) ||
        !rf_share_settings_ok(limit_ns, window_ns) || origin_ns > bpf_ktime_get_ns())
        return -EINVAL;
    if (partition->configured)
        return -EBUSY;
    if (bpf_timer_init(&timer->timer, &share_timers, CLOCK_MONOTONIC) ||
        bpf_timer_set_callback(&timer->timer, share_timer_fired) || !prepare_instants())
        return -EINVAL;
    bpf_spin_lock(&partition->lock);
    rf_gang_init(&partition->gang, &cpus, limit_ns, window_ns, origin_ns);
    bpf_spin_unlock(&partition->lock);
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_state *state = cpu_state_of(cpu);
        if (state && rf_cpu_set_contains(&cpus, cpu)) {
            state->partition = index;
            state->in_partition = 1;
        }
    }
    agent_tgid = bpf_get_current_pid_tgid() >> 32;
    partition->configured = 1;
    return 0;
}

/* Timers of budgets, for all CPUs: again is no error. */
static inline bool make_budget_timers(void) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct budget_timer *timer = budget_timer_of(cpu);
        if (!timer)
            return false;
        s64 error = bpf_timer_init(&timer->timer, &budget_timers, CLOCK_MONOTONIC);
        if ((error && error != -EBUSY) || bpf_timer_set_callback(&timer->timer, budget_timer_fired))
            return false;
    }
    return true;
}

/* Starts to regulate best-effort work, whose counters user space has put in their place. */
SEC("syscall")
int add_domain(struct new_domain *new) {
    u32 index = 0;
    struct rf_cpu_set cpus = new->cpus;
    u64 period_ns = new->period_ns;
    u64 sample_every = new->sample_every;
    u32 by_time = new->by_time == 1;
    struct domain *domain = bpf_map_lookup_elem(&domains, &index);
    struct refill_timer *timer = bpf_map_lookup_elem(&refill_timers, &index);
    if (!domain || !timer || period_ns < RF_BUDGET_MIN_PERIOD_NS || rf_cpu_set_is_empty(&cpus))
        return -EINVAL;
    if (domain->configured)
        return -EBUSY;
    if (!make_budget_timers() || bpf_timer_init(&timer->timer, &refill_timers, CLOCK_MONOTONIC) ||
        bpf_timer_set_callback(&timer->timer, refill_timer_fired))
        return -EINVAL;
    domain->by_time = by_time;
    domain->period_ns = period_ns;
    domain->sample_every = sample_every;
    bpf_spin_lock(&domain->lock);
    rf_regulator_init(&domain->regulator, &cpus);
    for (u32 i = 0; i < RF_MAX_PARTITIONS; i++)
        domain->told_priority[i] = RF_GANG_NO_PRIORITY;
    domain->configured = 1;
    bpf_spin_unlock(&domain->lock);
    /* A gang that runs already is news to the regulator. */
    for (u32 i = 0; i < RF_MAX_PARTITIONS; i++)
        tell_gang(i);
    bpf_timer_start(&timer->timer, period_ns, 0);
    return 0;
}

/* Makes the queues of a priority: all of them, or none. */
static inline s32 make_queues(const struct partition *partition, u32 index, u32 priority) {
    s32 error = scx_bpf_create_dsq(queue_of_partition(index, priority), -1);
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count && !error; cpu++)
        if (rf_cpu_set_contains(&partition->gang.cpus, cpu))
            error = scx_bpf_create_dsq(queue_of_cpu(cpu, priority), -1);
    if (!error)
        return 0;
    scx_bpf_destroy_dsq(queue_of_partition(index, priority));
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++)
        if (rf_cpu_set_contains(&partition->gang.cpus, cpu))
            scx_bpf_destroy_dsq(queue_of_cpu(cpu, priority));
    return error;
}

/*
 * Makes the queues of a priority, before its first member, or changes what it tolerates from
 * when it runs next.
 */
SEC("syscall")
int add_priority(struct new_priority *new) {
    u32 index = new->partition;
    u32 priority = new->priority;
    struct rf_budget tolerance = new->tolerance;
    struct partition *partition = partition_of(index);
    if (!partition || !rf_gang_is_priority(priority))
        return -EINVAL;
    u32 key = index * RF_GANG_PRIORITIES + priority;
    struct rf_budget *listed = bpf_map_lookup_elem(&tolerances, &key);
    if (!listed)
        return -EINVAL;
    priority = RF_INDEX(priority, RF_GANG_PRIORITIES);
    if (!partition->has_queues[priority]) {
        s32 error = make_queues(partition, index, priority);
        if (error)
            return error;
        u32 count = partition->priorities;
        partition->priority[RF_INDEX(count, RF_GANG_PRIORITIES)] = (u8)priority;
        partition->priorities = count + 1;
        partition->has_queues[priority] = 1;
    }
    *listed = tolerance;
    return 0;
}

#endif
