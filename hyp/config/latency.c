/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A guest on the first core that waits for its timer, alone or beside another VM on the others. It
 * has the first core, and its interrupts their turn at once: see TURN_US in tests/hyp/machine.py.
 */
#include "../core/config.h"

#define LINE_BY_LINE 5 /* of the writer's: no turn of its cores is longer than a line */
/* Of the guest; without a budget it has no reservation. */
#ifndef BUDGET
#define BUDGET 0
#endif
#define PERIOD_NS 100000
/* How often it waits, and whether it writes lines meanwhile. */
#ifndef SAMPLES
#define SAMPLES 300
#endif
#ifndef WRITES
#define WRITES 0
#endif
/* The other VM: 0 if there is none. Its image is at 0x44000000, with these arguments. */
#ifndef NEIGHBOURS
#define NEIGHBOURS 3
#endif
#ifndef NEIGHBOUR_ARGUMENTS
#define NEIGHBOUR_ARGUMENTS PERIOD_NS, 430, NEIGHBOURS, LINE_BY_LINE
#endif
#ifndef NEIGHBOUR_BUDGET
#define NEIGHBOUR_BUDGET 0
#endif

static const struct vm_config vms[] = {
    {
        .name = "waiter",
        .entry = 0x40000000,
        .arguments = {SAMPLES, WRITES},
        .memory = {{.guest_address = 0x40000000, .address = 0x48000000, .size = 0x200000}},
        .cores = {0},
        .vcpus = 1,
        .reservation = {.budget = BUDGET, .period_ns = BUDGET ? PERIOD_NS : 0},
    },
    {
        .name = "neighbour",
        .entry = 0x40000000,
        .arguments = {NEIGHBOUR_ARGUMENTS},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {1, 2, 3},
        .vcpus = NEIGHBOURS,
        .reservation = {.budget = NEIGHBOUR_BUDGET, .period_ns = NEIGHBOUR_BUDGET ? PERIOD_NS : 0},
    },
};

const struct machine_config machine_config = {.vm = vms, .vms = NEIGHBOURS ? 2 : 1};
