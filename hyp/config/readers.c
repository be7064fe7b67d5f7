/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Readers of what is typed, and a writer with a reservation on the first two cores, which never has
 * the input: see TURN_US in tests/hyp/machine.py.
 */
#include "../core/config.h"

/* How they read, and the vCPU that gets the interrupt; a second reader is on the last core, if there is
 * one: else that is the first one's second vCPU. */
#ifndef WAY
#define WAY 0
#endif
#ifndef TARGET
#define TARGET 0
#endif
#ifndef SECOND
#define SECOND 0
#endif
#ifndef FIRST_NO_INPUT
#define FIRST_NO_INPUT 0
#endif
#ifndef PERIODS
#define PERIODS 20
#endif
/* Of a device that is not there. */
#ifndef DEVICES_INTERRUPT
#define DEVICES_INTERRUPT 0
#endif
#define PERIOD_NS 100000

static const struct vm_config vms[] = {
    {
        .name = "first",
        .entry = 0x40000000,
        .arguments = {WAY, TARGET},
        .memory = {{.guest_address = 0x40000000, .address = 0x48000000, .size = 0x200000}},
        .interrupts = {DEVICES_INTERRUPT},
        .cores = {2, 3},
        .vcpus = SECOND ? 1 : 2,
        .no_input = FIRST_NO_INPUT,
    },
    {
        .name = "writer",
        .entry = 0x40000000,
        .arguments = {PERIOD_NS, PERIODS, 2},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {0, 1},
        .vcpus = 2,
        .reservation = {.budget = 250, .period_ns = PERIOD_NS},
        .no_input = true,
    },
#if SECOND
    {
        .name = "second",
        .entry = 0x40000000,
        .arguments = {WAY},
        .memory = {{.guest_address = 0x40000000, .address = 0x48200000, .size = 0x200000}},
        .cores = {3},
        .vcpus = 1,
    },
#endif
};

const struct machine_config machine_config = {.vm = vms, .vms = sizeof(vms) / sizeof(vms[0])};
