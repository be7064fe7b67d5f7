/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* One walker, whose events are traced. The macros are for tests, which try other numbers. */
#include "../core/config.h"

#ifndef VCPUS
#define VCPUS 3
#endif
#ifndef BUDGET
#define BUDGET 300
#endif
#ifndef PERIOD_NS
#define PERIOD_NS 100000
#endif
#ifndef DURATION_NS
#define DURATION_NS 1000000
#endif
/* Of each vCPU's buffer. */
#ifndef BYTES
#define BYTES 0x100000
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifdef WEIGHTS
static const uint32_t weights[VCPUS] = {WEIGHTS};
#define GIVEN weights
#else
#define GIVEN 0
#endif

static const struct vm_config vms[] = {{
    .name = "walker",
    .entry = 0x40000000,
    .arguments = {DURATION_NS, VCPUS, BYTES, WRITES},
    .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
    .cores = {1, 2, 3},
    .vcpus = VCPUS,
    .reservation = {.budget = BUDGET, .period_ns = PERIOD_NS, .weights = GIVEN},
}};

const struct machine_config machine_config = {
    .vm = vms,
    .vms = 1,
    .trace = {.address = 0x7fc00000, .size = 0x200000},
};
