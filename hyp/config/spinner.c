/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* One spinner on one core, with a reservation that it never uses up or with none (PERIOD_NS 0), and
 * perhaps with a page of statistics, which it does not read. */
#include "../core/config.h"

#ifndef PERIOD_NS
#define PERIOD_NS 0
#endif
#ifndef ROUNDS
#define ROUNDS 1000000
#endif
#ifndef REGISTERS
#define REGISTERS 0
#endif
#ifndef STATISTICS
#define STATISTICS 0
#endif

static const struct vm_config vms[] = {{
    .name = "spinner",
    .entry = 0x40000000,
    .arguments = {ROUNDS, REGISTERS},
    .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x200000}},
    .cores = {1},
    .vcpus = 1,
    .reservation = {.budget = 1000000, .period_ns = PERIOD_NS},
    .statistics = {.guest_address = 0x70000000, .of = STATISTICS},
}};

const struct machine_config machine_config = {
    .vm = vms,
    .vms = 1,
#ifdef TRACE
    .trace = {.address = 0x7fe00000, .size = 0x200000},
#endif
};
