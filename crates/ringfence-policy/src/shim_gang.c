/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Gives gang.h's inline functions external linkage for the Rust face. */

#include <ringfence/gang.h>

#include <stddef.h>

_Static_assert(sizeof(struct rf_gang_partition) % sizeof(uint64_t) == 0 &&
                   _Alignof(struct rf_gang_partition) <= _Alignof(uint64_t),
               "the Rust face keeps a partition in an array of 64-bit words");

_Static_assert(sizeof(struct rf_cpu_set) == 64, "CpuSet of the Rust face has 8 64-bit words");

size_t shim_gang_partition_words(void) {
    return sizeof(struct rf_gang_partition) / sizeof(uint64_t);
}

enum rf_gang_status shim_gang_init(struct rf_gang_partition *p, const struct rf_cpu_set *cpus,
                                   uint64_t limit_ns, uint64_t window_ns, uint64_t now_ns) {
    return rf_gang_init(p, cpus, limit_ns, window_ns, now_ns);
}

enum rf_gang_status shim_gang_runnable(struct rf_gang_partition *p, uint32_t priority,
                                       struct rf_cpu_set *reschedule) {
    return rf_gang_runnable(p, priority, reschedule);
}

enum rf_gang_status shim_gang_quiescent(struct rf_gang_partition *p, uint32_t priority,
                                        struct rf_cpu_set *reschedule) {
    return rf_gang_quiescent(p, priority, reschedule);
}

enum rf_gang_status shim_gang_decide(struct rf_gang_partition *p, uint32_t cpu, uint32_t priority,
                                     enum rf_gang_decision *decision) {
    return rf_gang_decide(p, cpu, priority, decision);
}

enum rf_gang_status shim_gang_running(struct rf_gang_partition *p, uint32_t cpu, uint32_t priority,
                                      uint64_t now_ns) {
    return rf_gang_running(p, cpu, priority, now_ns);
}

enum rf_gang_status shim_gang_stopping(struct rf_gang_partition *p, uint32_t cpu, uint64_t now_ns,
                                       struct rf_cpu_set *reschedule) {
    return rf_gang_stopping(p, cpu, now_ns, reschedule);
}

void shim_gang_timer(struct rf_gang_partition *p, uint64_t now_ns, struct rf_cpu_set *reschedule) {
    rf_gang_timer(p, now_ns, reschedule);
}

uint64_t shim_gang_next_timer_ns(const struct rf_gang_partition *p) {
    return rf_gang_next_timer_ns(p);
}

uint32_t shim_gang_active_priority(const struct rf_gang_partition *p) {
    return p->active_priority;
}

bool shim_gang_is_share_exhausted(const struct rf_gang_partition *p) {
    return rf_share_is_exhausted(&p->share);
}

void shim_gang_share_use(const struct rf_gang_partition *p, uint64_t *window_start_ns,
                         uint64_t *seen_ns, uint64_t *used_ns) {
    *window_start_ns = p->share.window_start_ns;
    *seen_ns = p->share.seen_ns;
    *used_ns = p->share.used_ns;
}
