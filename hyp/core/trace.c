/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "trace.h"

#ifdef TRACE

#include "arch.h"
#include "platform.h"

/* Entries that each core has written. */
static uint64_t written[MAX_CORES];
static uint64_t entries;

void trace_init(void) {
    const struct memory_region *region = &machine_config.trace;
    struct trace_header *header = (struct trace_header *)(uintptr_t)region->address;
    if (region->size == 0)
        return;
    entries =
        (region->size - TRACE_HEADER_BYTES) / platform.cores / (uint64_t)sizeof(struct trace_entry);
    header->cores = platform.cores;
    header->entries = entries;
    __atomic_store_n(&header->magic, TRACE_MAGIC, __ATOMIC_RELEASE);
}

void trace(struct vcpu *vcpu, enum trace_kind kind) {
    if (entries == 0)
        return;
    uintptr_t rings = (uintptr_t)machine_config.trace.address + TRACE_HEADER_BYTES;
    uint64_t before = written[vcpu->core]++;
    struct trace_entry *entry =
        (struct trace_entry *)rings + vcpu->core * entries + before % entries;
    __atomic_store_n(&entry->sequence, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    entry->time_ns = arch_now_ns();
    entry->kind = kind;
    entry->events = vcpu->regulation.events;
    __atomic_store_n(&entry->sequence, before + 1, __ATOMIC_RELEASE);
}

#endif
