/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Three writers: one that lends, with a vCPU that naps and perhaps another that is on or off, one
 * that borrows, and a critical one that does neither.
 */
#include "../core/config.h"

#ifndef LENDS
#define LENDS 1
#endif
#ifndef BORROWS
#define BORROWS 1000
#endif
#ifndef BUDGET
#define BUDGET 100
#endif
#ifndef PERIOD_NS
#define PERIOD_NS 100000
#endif
/* Of the lender: all, and those that it turns on. */
#ifndef VCPUS
#define VCPUS 1
#endif
#ifndef VCPUS_ON
#define VCPUS_ON VCPUS
#endif
#ifndef LENDER_PERIODS
#define LENDER_PERIODS 40
#endif
#ifndef PERIODS
#define PERIODS 60
#endif
/* Another length, or a change of it, for the borrower. */
#ifndef OTHER_PERIOD_NS
#define OTHER_PERIOD_NS PERIOD_NS
#endif
#ifndef BOUNDS
#define BOUNDS 0, 0, 0, 0
#endif
#define NAP 4
#define LOOK (3 + 3 * 256)

static const struct vm_config vms[] = {
    {
        .name = "lender",
        .entry = 0x40000000,
        .arguments = {100000, LENDER_PERIODS, VCPUS_ON, NAP},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {0, 1},
        .vcpus = VCPUS,
        .reservation = {.budget = BUDGET, .period_ns = PERIOD_NS},
        .lending = {.lends = LENDS},
    },
    {
        .name = "borrower",
        .entry = 0x40000000,
        .arguments = {100000, PERIODS, 1, LOOK},
        .memory = {{.guest_address = 0x40000000, .address = 0x48000000, .size = 0x1000000}},
        .cores = {2},
        .vcpus = 1,
        .reservation = {.budget = 50, .period_ns = OTHER_PERIOD_NS, .bounds = {BOUNDS}},
        .lending = {.borrows = BORROWS},
        .statistics = {.guest_address = 0x70000000, .of = 7},
    },
    {
        .name = "critical",
        .entry = 0x40000000,
        .arguments = {100000, PERIODS, 1},
        .memory = {{.guest_address = 0x40000000, .address = 0x4c000000, .size = 0x1000000}},
        .cores = {3},
        .vcpus = 1,
        .reservation = {.budget = 75, .period_ns = 100000},
    },
};

const struct machine_config machine_config = {.vm = vms, .vms = 3, .events_per_s = 1000000000};
