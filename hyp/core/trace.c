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

/* The ring's next entry, which nobody takes for whole before it is closed. */
static struct trace_entry *open(struct vcpu *vcpu, uint64_t time_ns, enum trace_kind kind) {
    uintptr_t rings = (uintptr_t)machine_config.trace.address + TRACE_HEADER_BYTES;
    struct trace_entry *entry =
        (struct trace_entry *)rings + vcpu->core * entries + written[vcpu->core] % entries;
    __atomic_store_n(&entry->sequence, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    entry->time_ns = time_ns;
    entry->kind = kind;
    entry->events = vcpu->regulation.events;
    return entry;
}

static void close(const struct vcpu *vcpu, struct trace_entry *entry) {
    __atomic_store_n(&entry->sequence, ++written[vcpu->core], __ATOMIC_RELEASE);
}

void trace(struct vcpu *vcpu, enum trace_kind kind) {
    if (entries)
        close(vcpu, open(vcpu, arch_now_ns(), kind));
}

void trace_loan(struct vcpu *vcpu, enum trace_kind kind, uint64_t events, uint64_t period) {
    if (entries == 0)
        return;
    struct trace_entry *entry = open(vcpu, arch_now_ns(), kind);
    entry->about[0] = events;
    entry->about[1] = period;
    close(vcpu, entry);
}

void trace_change(struct vcpu *vcpu, uint64_t asked_ns, const struct vm *vm, uint64_t budget,
                  uint64_t period_ns, uint64_t from_ns) {
    if (entries == 0)
        return;
    struct trace_entry *entry = open(vcpu, asked_ns, TRACE_CHANGE);
    entry->about[0] = vm->number;
    entry->about[1] = budget;
    entry->about[2] = period_ns;
    entry->about[3] = from_ns;
    close(vcpu, entry);
}

#endif
