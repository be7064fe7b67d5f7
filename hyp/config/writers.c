/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* One writer. The macros are for tests, which try other numbers (make CONFIG_FLAGS=...). */
#include "../core/config.h"

#ifndef VCPUS
#define VCPUS 3
#endif
#ifndef BUDGET
#define BUDGET 0
#endif
#ifndef PERIOD_NS
#define PERIOD_NS 100000
#endif
#ifndef PERIODS
#define PERIODS 10
#endif
/* 0: no reservation. */
#ifndef REGULATED
#define REGULATED 1
#endif
#ifndef CORES
#define CORES 1, 2, 3
#endif
#ifndef ADDRESS
#define ADDRESS 0x44000000
#endif
#ifndef GUEST
#define GUEST 0x40000000
#endif
/* One more region behind an empty one: its address for the guest, and in the machine. */
#ifdef SECOND
#define MORE {0}, {SECOND, 0x200000}
#else
#define MORE {0}
#endif
/* Of its own reservation, see the guest. */
#ifndef ATTACK
#define ATTACK 0
#endif
#ifdef WEIGHTS
static const uint32_t weights[VCPUS] = {WEIGHTS};
#define GIVEN weights
#else
#define GIVEN 0
#endif

static const struct vm_config vms[] = {{
    .name = "writer",
    .entry = 0x40000000,
    .arguments = {PERIOD_NS, PERIODS, VCPUS, ATTACK},
    .memory = {{.guest_address = GUEST, .address = ADDRESS, .size = 0x1000000}, MORE},
    .cores = {CORES},
    .vcpus = VCPUS,
    .statistics = {.guest_address = 0x70000000, .of = 1},
    .reservation = {.budget = BUDGET, .period_ns = REGULATED ? PERIOD_NS : 0, .weights = GIVEN},
}};

const struct machine_config machine_config = {.vm = vms, .vms = 1};
