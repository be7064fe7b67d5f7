/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Linux beside a writer, which has the first cores: see TURN_US in tests/hyp/machine.py. Images:
 * Linux at 0x60000000, its device tree at 0x6f000000; the writer at 0x44000000.
 */
#include "../core/config.h"

#ifndef LINUX_VCPUS
#define LINUX_VCPUS 1
#endif
#ifndef WRITER_VCPUS
#define WRITER_VCPUS 3
#endif
/* Of the writer; without a budget it has no reservation. */
#ifndef PERIOD_NS
#define PERIOD_NS 1000000
#endif
#ifndef PERIODS
#define PERIODS 0
#endif

static const struct vm_config vms[] = {
    {
        .name = "linux",
        .entry = 0x40000000,
        .arguments = {0x4f000000},
        .memory = {{.guest_address = 0x40000000, .address = 0x60000000, .size = 0x10000000}},
        .cores = {WRITER_VCPUS, WRITER_VCPUS + 1},
        .vcpus = LINUX_VCPUS,
    },
    {
        .name = "writer",
        .entry = 0x40000000,
        .arguments = {PERIOD_NS, PERIODS, WRITER_VCPUS},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {0, 1, 2},
        .vcpus = WRITER_VCPUS,
#ifdef BUDGET
        .reservation = {.budget = BUDGET, .period_ns = PERIOD_NS},
#endif
    },
};

const struct machine_config machine_config = {.vm = vms, .vms = sizeof(vms) / sizeof(vms[0])};
