/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What happens to vCPUs, for somebody who reads the machine's memory from outside, such as
 * `ringfence run --target hyp`: a ring for each core, in memory that no VM has. It is there in
 * builds with TRACE=1 only; others have nothing of it.
 *
 * Nobody tells the hypervisor how far the rings have been read. Whoever is too slow finds a later
 * sequence number than the one expected, and so how many entries are lost.
 */
#ifndef RINGFENCE_HYP_TRACE_H
#define RINGFENCE_HYP_TRACE_H

#include "vm.h"

#define TRACE_MAGIC 0x3263727466676e72ULL /* "rngftrc2", little-endian */
/* The first page of the region is this header; the rings come behind it, one after the other. */
#define TRACE_HEADER_BYTES 4096U

#define TRACE_NUMBERS 4U

struct trace_header {
    uint64_t magic;   /* written last */
    uint64_t cores;   /* rings */
    uint64_t entries; /* of each ring */
};

struct trace_entry {
    uint64_t sequence; /* written last: 1 for the ring's first entry; 0 while it is changed */
    uint64_t time_ns;
    uint64_t kind;   /* enum trace_kind */
    uint64_t events; /* that the vCPU's core has counted, since the machine was turned on */
    uint64_t about[TRACE_NUMBERS]; /* as the kind says */
};

enum trace_kind {
    TRACE_ON = 1,   /* the vCPU starts */
    TRACE_OFF,      /* it is off, and its events are all counted */
    TRACE_REFILL,   /* a period begins */
    TRACE_THROTTLE, /* its share is used: it stands still */
    TRACE_RESUME,   /* it goes on */
    TRACE_LEND,     /* it gives of its share: how many events, number of the period */
    TRACE_BORROW,   /* it takes what was given: the same */
    TRACE_CHANGE, /* it changes a reservation: number of the VM, budget, period in ns, from when */
};

#ifdef TRACE
void trace_init(void);
void trace(struct vcpu *vcpu, enum trace_kind kind);
void trace_loan(struct vcpu *vcpu, enum trace_kind kind, uint64_t events, uint64_t period);
/* The vCPU has asked for it at a time that is not before any that it was traced at. */
void trace_change(struct vcpu *vcpu, uint64_t asked_ns, const struct vm *vm, uint64_t budget,
                  uint64_t period_ns, uint64_t from_ns);
/* Adds to what the vCPU's core has counted. */
static inline void trace_count(struct vcpu *vcpu, uint64_t events) {
    vcpu->regulation.events += events;
}
#else
static inline void trace_init(void) {
}
static inline void trace(struct vcpu *vcpu, enum trace_kind kind) {
    (void)vcpu, (void)kind;
}
static inline void trace_loan(struct vcpu *vcpu, enum trace_kind kind, uint64_t events,
                              uint64_t period) {
    (void)vcpu, (void)kind, (void)events, (void)period;
}
static inline void trace_change(struct vcpu *vcpu, uint64_t asked_ns, const struct vm *vm,
                                uint64_t budget, uint64_t period_ns, uint64_t from_ns) {
    (void)vcpu, (void)asked_ns, (void)vm, (void)budget, (void)period_ns, (void)from_ns;
}
static inline void trace_count(struct vcpu *vcpu, uint64_t events) {
    (void)vcpu, (void)events;
}
#endif

#endif
