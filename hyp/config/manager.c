/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A writer on the first cores, and a manager on the last that may change its reservation. */
#include "../core/config.h"

#ifndef DEED
#define DEED 0
#endif
#ifndef VCPUS
#define VCPUS 3
#endif
/* How the writer counts: lengths that periods have are multiples of the slot. */
#ifndef SLOTS
#define SLOTS 500
#endif
#ifndef SLOT_NS
#define SLOT_NS 10000
#endif
/* Of its own reservation, see the guest. */
#ifndef ATTACK
#define ATTACK 0
#endif
#ifndef PERIOD_NS
#define PERIOD_NS 100000
#endif
#ifndef BUDGET
#define BUDGET 200
#endif
#ifndef EVENTS_PER_S
#define EVENTS_PER_S 3000000
#endif
#ifndef BOUNDS
#define BOUNDS 10, 10000, 20000, 1000000
#endif
#ifndef STATISTICS
#define STATISTICS 0x70000000
#endif
#ifndef OF
#define OF 3
#endif
#ifndef MAY_CHANGE
#define MAY_CHANGE 1
#endif

static const struct vm_config vms[] = {
    {
        .name = "writer",
        .entry = 0x40000000,
        .arguments = {SLOT_NS, SLOTS, VCPUS, ATTACK},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {0, 1, 2},
        .vcpus = VCPUS,
        .reservation = {.budget = BUDGET, .period_ns = PERIOD_NS, .bounds = {BOUNDS}},
    },
    {
        .name = "manager",
        .entry = 0x40000000,
        .arguments = {DEED},
        .memory = {{.guest_address = 0x40000000, .address = 0x48000000, .size = 0x200000}},
        .cores = {3},
        .vcpus = 1,
        .may_change = MAY_CHANGE,
        .statistics = {.guest_address = STATISTICS, .of = OF},
    },
};

const struct machine_config machine_config = {.vm = vms, .vms = 2, .events_per_s = EVENTS_PER_S};
