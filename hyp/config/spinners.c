/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A spinner on each of four cores, each a VM with a reservation that it never uses up. */
#include "../core/config.h"

#ifndef ROUNDS
#define ROUNDS 1000000
#endif
#define PERIOD_NS 1000000

#define SPINNER(core)                                                                              \
    {                                                                                              \
        .name = "core" #core,                                                                      \
        .entry = 0x40000000,                                                                       \
        .arguments = {ROUNDS},                                                                     \
        .memory = {{0x40000000, 0x44000000 + core * 0x200000, 0x200000}},                          \
        .cores = {core},                                                                           \
        .vcpus = 1,                                                                                \
        .reservation = {.budget = 1000000, .period_ns = PERIOD_NS},                                \
    }

static const struct vm_config vms[] = {SPINNER(0), SPINNER(1), SPINNER(2), SPINNER(3)};

const struct machine_config machine_config = {.vm = vms, .vms = 4};
