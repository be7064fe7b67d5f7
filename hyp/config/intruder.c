/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * An intruder on the last cores beside a writer with a reservation on the first two: it may be busy
 * and never yield, see TURN_US in tests/hyp/machine.py.
 */
#include "../core/config.h"

#ifndef DEED
#define DEED 0
#endif
#ifndef INTRUDER_VCPUS
#define INTRUDER_VCPUS 1
#endif
#ifndef SILENT
#define SILENT 0
#endif
#ifndef PERIODS
#define PERIODS 20
#endif
#ifndef SEED
#define SEED 1
#endif
#define PERIOD_NS 100000

static const struct vm_config vms[] = {
    {
        .name = "intruder",
        .entry = 0x40000000,
        .arguments = {DEED, INTRUDER_VCPUS, SILENT, SEED},
        .memory = {{.guest_address = 0x40000000, .address = 0x48000000, .size = 0x200000}},
        .cores = {2, 3},
        .vcpus = INTRUDER_VCPUS,
        .statistics = {.guest_address = 0x70000000, .of = 2},
    },
    {
        .name = "writer",
        .entry = 0x40000000,
        .arguments = {PERIOD_NS, PERIODS, 2},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {0, 1},
        .vcpus = 2,
        .reservation = {.budget = 250, .period_ns = PERIOD_NS},
    },
};

const struct machine_config machine_config = {.vm = vms, .vms = 2};
