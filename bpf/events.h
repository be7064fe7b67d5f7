/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the enforcer says it did, for the record of a run. Verdicts do not rest on it.
 * Reserved by few CPUs at a time, so slightly out of order; the reader sorts by time.
 */
#ifndef RINGFENCE_BPF_EVENTS_H
#define RINGFENCE_BPF_EVENTS_H

#include "kernel.h"

enum event_kind {
    EVENT_GANG_ACTIVE = 1, /* place: partition; value: priority of the gang that runs, or 0 */
    EVENT_THROTTLED,       /* place: CPU */
    EVENT_UNTHROTTLED,     /* place: CPU; value: 1 if because no gang runs */
    EVENT_USED,            /* place: CPU; value, writes: of best-effort work since the start */
};

struct event {
    u64 time_ns; /* CLOCK_MONOTONIC */
    u32 kind;
    u32 place;
    u64 value;
    u64 writes;
    u64 sequence; /* of what was decided under the domain's lock; the times may be in another order */
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 22);
} events SEC(".maps");

/* Events that found no room. */
u64 lost_events;

static inline void tell(u32 kind, u32 place, u64 value, u64 writes, u64 sequence) {
    u64 time_ns = bpf_ktime_get_ns();
    struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
    if (!event) {
        __sync_fetch_and_add(&lost_events, 1);
        return;
    }
    event->time_ns = time_ns;
    event->kind = kind;
    event->place = place;
    event->value = value;
    event->writes = writes;
    event->sequence = sequence;
    /* Nobody waits for it: who reads looks now and then. To wake somebody costs an interrupt. */
    bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
