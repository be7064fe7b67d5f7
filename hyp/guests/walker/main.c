/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Goes over a buffer on all its vCPUs, a cache line after the other and again from its start, and
 * tells nobody: how many lines that moves is for others to count.
 *
 * Arguments: for how long in ns, vCPUs, bytes of each vCPU's buffer (whole rows of 4 lines, at most 1 MiB),
 * and whether it writes (1) or reads (0).
 */
#include "guest.h"

#define MAX_VCPUS 8U
#define LINE_BYTES 64U
#define BUFFER_BYTES (1U << 20)
/* Steps between two looks at the clock, and of those, between two branches. */
#define STEPS 16U
#define ROW 4U

static struct {
    uint64_t end_ns;
    uint64_t bytes;
    uint64_t writes;
    uint64_t done;
} run;

static uint64_t steps[MAX_VCPUS];
static uint8_t buffer[MAX_VCPUS][BUFFER_BYTES] __attribute__((aligned(LINE_BYTES)));

/* With no branch in it. */
static inline void step_row(volatile uint8_t *row, uint64_t value) {
#pragma GCC unroll 4
    for (uint32_t n = 0; n < ROW; n++) {
        volatile uint64_t *word = (volatile uint64_t *)&row[n * LINE_BYTES];
        if (run.writes)
            *word = value;
        else
            (void)*word;
    }
}

static void walk(uint64_t vcpu) {
    uint64_t count = 0, at = 0, end_ns = run.end_ns, bytes = run.bytes;
    do {
        for (uint32_t n = 0; n < STEPS; n += ROW) {
            step_row(&buffer[vcpu][at], count);
            at += ROW * LINE_BYTES;
            if (at == bytes)
                at = 0;
        }
        count += STEPS;
    } while (now_ns() < end_ns);
    steps[vcpu] = count;
    __atomic_fetch_add(&run.done, 1, __ATOMIC_ACQ_REL);
}

void secondary(uint64_t vcpu) {
    walk(vcpu);
    vcpu_off();
}

/* Nobody sends it any. */
void interrupt(void) {
    uint64_t got = interrupt_take();
    print("interrupt %u\n", INTERRUPT_NUMBER(got));
    interrupt_end(got);
}

void main(uint64_t duration_ns, uint64_t vcpus, uint64_t bytes, uint64_t writes) {
    run.end_ns = now_ns() + duration_ns;
    run.bytes = bytes;
    run.writes = writes;
    interrupts_on(0, 0);
    for (uint64_t vcpu = 1; vcpu < vcpus; vcpu++)
        if (!vcpu_on(vcpu))
            print("vCPU %u does not start\n", vcpu);
    walk(0);
    while (__atomic_load_n(&run.done, __ATOMIC_ACQUIRE) < vcpus)
        __asm__ volatile("yield");
    for (uint64_t vcpu = 0; vcpu < vcpus; vcpu++)
        print("vCPU %u: %u steps\n", vcpu, steps[vcpu]);
}
