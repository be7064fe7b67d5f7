/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Throttling of best-effort work: carries gangs and traffic to policy/regulator.h, and
 * what it decides to the CPUs. One domain: the memory that all CPUs share.
 *
 * Traffic is what a counter of each CPU says (a perf event; of a PMU, or of time where
 * there is no PMU). It is read whenever the CPU switches, and each time it has counted a
 * quantum, so that what a best-effort thread caused is charged to its CPU and nothing
 * else is. The second happens in an interrupt that may come while locks are held (NMI):
 * there it is only added up, and the CPU kicked when its budget may be used up.
 *
 * A core therefore uses at most its budget and one quantum in a period, and the time
 * until the kick arrives.
 */
#ifndef RINGFENCE_BPF_REGULATION_H
#define RINGFENCE_BPF_REGULATION_H

#include "events.h"
#include "ringfence/regulator.h"
#include "state.h"

struct domain {
    struct bpf_spin_lock lock;
    u32 configured;
    struct rf_regulator regulator;
    /* The gang of each partition that the regulator was last told of. */
    u32 told_priority[RF_MAX_PARTITIONS];
    u64 period_ns;
    u64 next_refill_ns;
    u64 sample_every; /* refills */
    u64 refills;
};

/* One direction of a CPU's traffic. Also touched in NMI context. */
struct meter {
    u64 last;    /* what the counter said when it was last read */
    u64 pending; /* caused by best-effort work, and not yet charged */
    u64 left;    /* of the budget, when it was last charged */
    u64 total;   /* all that best-effort work caused */
};

struct cpu_meters {
    struct meter reads;
    struct meter writes;
    u32 best_effort; /* such a thread runs here */
    u32 unused;
};

struct refill_timer {
    struct bpf_timer timer;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct domain);
} domains SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_CPUS);
    __type(key, u32);
    __type(value, struct cpu_meters);
} meters SEC(".maps");

/* What each gang tolerates, in events a period; by partition and priority. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_PARTITIONS *RF_GANG_PRIORITIES);
    __type(key, u32);
    __type(value, struct rf_budget);
} tolerances SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, u32);
    __type(value, struct refill_timer);
} refill_timers SEC(".maps");

/* The counters of each CPU. */
struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(max_entries, RF_MAX_CPUS);
    __type(key, u32);
    __type(value, u32);
} read_counters SEC(".maps"), write_counters SEC(".maps");

static inline struct domain *domain_of(u32 index) {
    struct domain *domain = bpf_map_lookup_elem(&domains, &index);
    return domain && domain->configured ? domain : NULL;
}

static inline struct cpu_meters *meters_of(u32 cpu) {
    return bpf_map_lookup_elem(&meters, &cpu);
}

static inline bool is_throttled(u32 cpu) {
    struct domain *domain = domain_of(0);
    return domain && rf_regulator_is_throttled(&domain->regulator, cpu);
}

/* One event for each CPU of the set. Global: see kick_all. */
__attribute__((noinline)) int tell_all(const struct rf_cpu_set *cpus, u32 kind, u32 value) {
    if (!cpus || rf_cpu_set_is_empty(cpus))
        return 0;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++)
        if (rf_cpu_set_contains(cpus, cpu))
            tell(kind, cpu, value, 0);
    return 0;
}

/* Counts what the counter said last until `now`; for best-effort work if `counts`. */
static inline u64 advance(struct meter *meter, u64 now, bool counts) {
    u64 last = __sync_lock_test_and_set(&meter->last, now);
    /* An interrupt in between has counted it already. */
    if (now <= last || !counts)
        return meter->pending;
    __sync_fetch_and_add(&meter->total, now - last);
    return __sync_fetch_and_add(&meter->pending, now - last) + (now - last);
}

/* Charges what is pending on `cpu`. */
static inline void charge(struct domain *domain, struct cpu_meters *meters, u32 cpu) {
    struct rf_budget left = {0};
    u64 reads = __sync_lock_test_and_set(&meters->reads.pending, 0);
    u64 writes = __sync_lock_test_and_set(&meters->writes.pending, 0);
    bpf_spin_lock(&domain->lock);
    bool before = rf_regulator_is_throttled(&domain->regulator, cpu);
    rf_regulator_charge(&domain->regulator, cpu, reads, writes);
    bool after = rf_regulator_is_throttled(&domain->regulator, cpu);
    rf_regulator_remaining(&domain->regulator, cpu, &left);
    bpf_spin_unlock(&domain->lock);
    meters->reads.left = left.reads;
    meters->writes.left = left.writes;
    if (after && !before)
        tell(EVENT_THROTTLED, cpu, 0, 0);
}

/* Before best-effort work goes on here: whether it may. */
static inline bool may_use_memory(u32 cpu) {
    struct domain *domain = domain_of(0);
    struct cpu_meters *meters = meters_of(cpu);
    if (!domain || !meters)
        return true;
    if (domain->regulator.regulated)
        charge(domain, meters, cpu);
    return !rf_regulator_is_throttled(&domain->regulator, cpu);
}

/* The CPU switches: what the counters say now is the leaving thread's. */
static inline void meter_switch(u32 cpu, bool next_is_best_effort) {
    struct bpf_perf_event_value value;
    struct domain *domain = domain_of(0);
    struct cpu_meters *meters = meters_of(cpu);
    if (!domain || !meters)
        return;
    bool counts = meters->best_effort;
    if (!bpf_perf_event_read_value(&read_counters, BPF_F_CURRENT_CPU, &value, sizeof(value)))
        advance(&meters->reads, value.counter, counts);
    if (!bpf_perf_event_read_value(&write_counters, BPF_F_CURRENT_CPU, &value, sizeof(value)))
        advance(&meters->writes, value.counter, counts);
    meters->best_effort = next_is_best_effort;
    if (counts && domain->regulator.regulated)
        charge(domain, meters, cpu);
}

/* A counter has counted a quantum; perhaps in NMI context, so nothing is locked. */
static inline void meter_overflow(struct bpf_perf_event_data *context, bool writes) {
    struct bpf_perf_event_value value;
    u32 cpu = bpf_get_smp_processor_id();
    struct cpu_meters *meters = meters_of(cpu);
    if (!meters || bpf_perf_prog_read_value(context, &value, sizeof(value)))
        return;
    struct meter *meter = writes ? &meters->writes : &meters->reads;
    u64 pending = advance(meter, value.counter, meters->best_effort);
    if (meters->best_effort && pending >= meter->left)
        scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
}

/* Tells the regulator which gang of a partition runs now, whatever it heard before. Global: see kick_all. */
__attribute__((noinline)) int tell_regulator(u32 index) {
    struct rf_cpu_set changed;
    struct partition *partition = partition_of(index);
    struct domain *domain = domain_of(0);
    if (!partition || !domain || index >= RF_MAX_PARTITIONS)
        return 0;
    u32 *told = &domain->told_priority[RF_INDEX(index, RF_MAX_PARTITIONS)];
    u32 priority = partition->gang.locked_priority;
    if (priority == *told)
        return 0;
    u32 key = index * RF_GANG_PRIORITIES + priority;
    struct rf_budget *listed = bpf_map_lookup_elem(&tolerances, &key);
    struct rf_budget tolerance = {0};
    if (listed)
        tolerance = *listed;
    bpf_spin_lock(&domain->lock);
    /* Who changed it in between tells it himself. */
    if (partition->gang.locked_priority != priority || *told == priority) {
        bpf_spin_unlock(&domain->lock);
        return 0;
    }
    *told = priority;
    if (priority)
        rf_regulator_gang_running(&domain->regulator, index, &tolerance, &changed);
    else
        rf_regulator_gang_stopped(&domain->regulator, index, &changed);
    bpf_spin_unlock(&domain->lock);
    tell(EVENT_GANG_ACTIVE, index, priority, 0);
    tell_all(&changed, priority ? EVENT_THROTTLED : EVENT_UNTHROTTLED, 1);
    kick_all(&changed, priority ? SCX_KICK_PREEMPT : SCX_KICK_IDLE);
    if (!priority)
        return 0;
    /* What was left was left of a looser budget. */
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_meters *meters = meters_of(cpu);
        if (meters)
            meters->reads.left = meters->writes.left = 0;
    }
    return 0;
}

/* What best-effort work of each CPU has used so far, up to a quantum. */
static inline void tell_used(void) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_meters *meters = meters_of(cpu);
        if (meters)
            tell(EVENT_USED, cpu, meters->reads.total, meters->writes.total);
    }
}

static int refill_timer_fired(void *map, u32 *index, struct refill_timer *timer) {
    struct rf_cpu_set unthrottled;
    struct domain *domain = domain_of(0);
    if (!domain)
        return 0;
    bpf_spin_lock(&domain->lock);
    rf_regulator_refill(&domain->regulator, &unthrottled);
    bpf_spin_unlock(&domain->lock);
    tell_all(&unthrottled, EVENT_UNTHROTTLED, 0);
    /* A CPU that is busy takes best-effort work when it is done. */
    kick_all(&unthrottled, SCX_KICK_IDLE);
    domain->refills++;
    if (domain->sample_every && domain->refills % domain->sample_every == 0)
        tell_used();
    /* Periods that passed unseen are gone: one refill must not follow another at once. */
    u64 late_ns = bpf_ktime_get_ns() - domain->next_refill_ns;
    domain->next_refill_ns += (late_ns / domain->period_ns + 1) * domain->period_ns;
    bpf_timer_start(&timer->timer, domain->next_refill_ns, BPF_F_TIMER_ABS);
    return 0;
}

#endif
