/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Throttling of best-effort work: carries gangs and traffic to policy/regulator.h, and
 * what it decides to the CPUs. One domain: the memory that all CPUs share.
 *
 * Traffic is what a counter of each CPU says (a perf event). It is read whenever the CPU
 * switches, and each time it has counted a quantum, so that what a best-effort thread
 * caused is charged to its CPU and nothing else is. The second happens in an interrupt
 * that may come while locks are held (NMI): there it is only added up, and the CPU kicked
 * when its budget may be used up. A core therefore uses at most its budget and one quantum
 * in a period, and what it uses until the kick arrives.
 *
 * Where traffic cannot be counted, time is what is used (`by_time`): a timer of the CPU
 * then ends the budget, and nothing interrupts a CPU that is not held to one.
 */
#ifndef RINGFENCE_BPF_REGULATION_H
#define RINGFENCE_BPF_REGULATION_H

#include "events.h"
#include "ringfence/regulator.h"
#include "state.h"

struct domain {
    struct bpf_spin_lock lock;
    u32 configured;
    u64 sequence; /* of decisions */
    struct rf_regulator regulator;
    /* The gang of each partition that the regulator was last told of. */
    u32 told_priority[RF_MAX_PARTITIONS];
    u32 by_time;
    u64 period_ns;
    u64 sample_every; /* refills */
    u64 refills;
};

/* One direction of a CPU's traffic. Also touched in NMI context. */
struct meter {
    u64 last;    /* what the counter said when it was last read */
    u64 pending; /* caused by best-effort work, and not yet charged */
    u64 left;    /* of the budget, when it was last charged; 0 if another one came since */
    u64 total;   /* all that best-effort work caused */
};

struct cpu_meters {
    struct meter reads;
    struct meter writes;
    u32 best_effort; /* such a thread runs here */
    u32 unused;
};

/* As the regulator says; written under its lock. What runs in NMI context may not look there. */
static u32 is_regulated;

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

struct budget_timer {
    struct bpf_timer timer;
};

/* When the time is used up that a CPU has for best-effort work. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, RF_MAX_CPUS);
    __type(key, u32);
    __type(value, struct budget_timer);
} budget_timers SEC(".maps");

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
__attribute__((noinline)) int tell_all(const struct rf_cpu_set *cpus, u32 kind, u32 value,
                                       u64 sequence) {
    if (!cpus || rf_cpu_set_is_empty(cpus))
        return 0;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++)
        if (rf_cpu_set_contains(cpus, cpu))
            tell(kind, cpu, value, 0, sequence);
    return 0;
}

/* Counts what the counter said last until `now`; for best-effort work if `counts`. */
static inline u64 advance(struct meter *meter, u64 now, bool counts) {
    u64 last = meter->last;
    if (now <= last || !counts) {
        meter->last = now > last ? now : last;
        return meter->pending;
    }
    /* Otherwise an interrupt has come since `now` was read, and has counted further. */
    if (__sync_val_compare_and_swap(&meter->last, last, now) != last)
        return meter->pending;
    __sync_fetch_and_add(&meter->total, now - last);
    return __sync_fetch_and_add(&meter->pending, now - last) + (now - last);
}

/* Charges what is pending on `cpu`; whether that throttles it. */
static inline bool charge(struct domain *domain, struct cpu_meters *meters, u32 cpu) {
    struct rf_budget left = {0};
    u64 reads = __sync_lock_test_and_set(&meters->reads.pending, 0);
    u64 writes = __sync_lock_test_and_set(&meters->writes.pending, 0);
    bpf_spin_lock(&domain->lock);
    bool before = rf_regulator_is_throttled(&domain->regulator, cpu);
    rf_regulator_charge(&domain->regulator, cpu, reads, writes);
    bool after = rf_regulator_is_throttled(&domain->regulator, cpu);
    rf_regulator_remaining(&domain->regulator, cpu, &left);
    meters->reads.left = left.reads;
    meters->writes.left = left.writes;
    u64 sequence = ++domain->sequence;
    bpf_spin_unlock(&domain->lock);
    if (after && !before)
        tell(EVENT_THROTTLED, cpu, 0, 0, sequence);
    return after && !before;
}

static inline struct budget_timer *budget_timer_of(u32 cpu) {
    return bpf_map_lookup_elem(&budget_timers, &cpu);
}

/* Time that best-effort work has used until now. */
static inline void advance_time(struct cpu_meters *meters) {
    advance(&meters->reads, bpf_ktime_get_ns(), meters->best_effort);
}

/* Has the budget of a CPU that runs best-effort work end in time. */
static inline void arm_budget_timer(const struct domain *domain, const struct cpu_meters *meters,
                                    u32 cpu) {
    struct budget_timer *timer = budget_timer_of(cpu);
    /* More than a period has is never used up. */
    if (timer && domain->by_time && domain->regulator.regulated && meters->best_effort &&
        meters->reads.left <= domain->period_ns)
        bpf_timer_start(&timer->timer, meters->reads.left, 0);
}

/* What is left may have become less or more meanwhile. */
static int budget_timer_fired(void *map, u32 *index, struct budget_timer *timer) {
    u32 cpu = *index;
    struct domain *domain = domain_of(0);
    struct cpu_meters *meters = meters_of(cpu);
    if (!domain || !meters || !meters->best_effort || !domain->regulator.regulated)
        return 0;
    advance_time(meters);
    if (charge(domain, meters, cpu))
        kick(cpu);
    else if (!rf_regulator_is_throttled(&domain->regulator, cpu))
        arm_budget_timer(domain, meters, cpu);
    return 0;
}

/*
 * Charges what is pending on all CPUs to the time until now, or forgets it if nothing was
 * regulated until now. Global: see kick_all.
 */
__attribute__((noinline)) int charge_all(void) {
    struct domain *domain = domain_of(0);
    if (!domain)
        return 0;
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_meters *meters = meters_of(cpu);
        if (!meters)
            continue;
        if (domain->by_time)
            advance_time(meters);
        if (!domain->regulator.regulated)
            meters->reads.pending = meters->writes.pending = 0;
        else if ((meters->reads.pending || meters->writes.pending) && charge(domain, meters, cpu))
            kick(cpu);
    }
    return 0;
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

/* What the counters say now is the leaving thread's. */
static inline void read_meters(struct domain *domain, u32 cpu, bool next_is_best_effort) {
    struct bpf_perf_event_value value;
    struct cpu_meters *meters = meters_of(cpu);
    if (!meters)
        return;
    bool counts = meters->best_effort;
    if (domain->by_time)
        advance_time(meters);
    else if (!bpf_perf_event_read_value(&read_counters, BPF_F_CURRENT_CPU, &value, sizeof(value)))
        advance(&meters->reads, value.counter, counts);
    if (!domain->by_time &&
        !bpf_perf_event_read_value(&write_counters, BPF_F_CURRENT_CPU, &value, sizeof(value)))
        advance(&meters->writes, value.counter, counts);
    meters->best_effort = next_is_best_effort;
    if (counts && domain->regulator.regulated)
        charge(domain, meters, cpu);
    arm_budget_timer(domain, meters, cpu);
}

/* The CPU switches. */
static __always_inline void meter_switch(u32 cpu, bool next_is_best_effort) {
    struct domain *domain = domain_of(0);
    if (domain)
        read_meters(domain, cpu, next_is_best_effort);
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
    if (is_regulated && meters->best_effort && pending >= meter->left)
        kick(cpu);
}

/*
 * The CPUs have other budgets: what is left of them shows when they are charged. Also if nothing
 * is regulated now: who writes here last need not be who decided last.
 */
static inline void forget_left(const struct domain *domain) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_meters *meters = meters_of(cpu);
        if (!meters)
            continue;
        meters->reads.left = meters->writes.left = 0;
        arm_budget_timer(domain, meters, cpu);
    }
}

/*
 * Tells the regulator and the record which gang of a partition runs now. Whoever changes that
 * calls it, once the partition's lock is released. Global: see kick_all.
 */
__attribute__((noinline)) int tell_gang(u32 index) {
    struct rf_cpu_set changed;
    struct rf_budget tolerance = {0};
    u32 zero = 0;
    struct partition *partition = partition_of(index);
    struct domain *domain = bpf_map_lookup_elem(&domains, &zero);
    if (!partition || !domain || index >= RF_MAX_PARTITIONS)
        return 0;
    u32 priority = partition->gang.locked_priority;
    u32 key = index * RF_GANG_PRIORITIES + priority;
    struct rf_budget *listed = bpf_map_lookup_elem(&tolerances, &key);
    if (listed)
        tolerance = *listed;
    charge_all();
    rf_cpu_set_clear(&changed);
    bpf_spin_lock(&domain->lock);
    bool regulates = domain->configured;
    u32 *told = &domain->told_priority[RF_INDEX(index, RF_MAX_PARTITIONS)];
    /* Who changed it in between tells it himself. */
    if (partition->gang.locked_priority != priority || *told == priority) {
        bpf_spin_unlock(&domain->lock);
        return 0;
    }
    *told = priority;
    if (regulates && priority)
        rf_regulator_gang_running(&domain->regulator, index, &tolerance, &changed);
    else if (regulates)
        rf_regulator_gang_stopped(&domain->regulator, index, &changed);
    is_regulated = regulates && domain->regulator.regulated;
    u64 sequence = ++domain->sequence;
    bpf_spin_unlock(&domain->lock);
    tell(EVENT_GANG_ACTIVE, index, priority, 0, sequence);
    if (!regulates)
        return 0;
    forget_left(domain);
    tell_all(&changed, priority ? EVENT_THROTTLED : EVENT_UNTHROTTLED, !priority, sequence);
    if (priority)
        kick_all(&changed);
    else
        wake_all(&changed);
    return 0;
}

/* What best-effort work of each CPU has used so far, up to a quantum. */
static inline void tell_used(void) {
    for (u32 cpu = 0; cpu < RF_MAX_CPUS && cpu < cpu_count; cpu++) {
        struct cpu_meters *meters = meters_of(cpu);
        if (meters)
            tell(EVENT_USED, cpu, meters->reads.total, meters->writes.total, 0);
    }
}

static int refill_timer_fired(void *map, u32 *index, struct refill_timer *timer) {
    struct rf_cpu_set unthrottled;
    struct domain *domain = domain_of(0);
    if (!domain)
        return 0;
    charge_all();
    bpf_spin_lock(&domain->lock);
    rf_regulator_refill(&domain->regulator, &unthrottled);
    u64 sequence = ++domain->sequence;
    bpf_spin_unlock(&domain->lock);
    tell_all(&unthrottled, EVENT_UNTHROTTLED, 0, sequence);
    /* A CPU that is busy takes best-effort work when it is done. */
    wake_all(&unthrottled);
    domain->refills++;
    if (domain->sample_every && domain->refills % domain->sample_every == 0)
        tell_used();
    /* From now on, as one refill must not follow a late one in less than a period. */
    bpf_timer_start(&timer->timer, domain->period_ns, 0);
    return 0;
}

#endif
