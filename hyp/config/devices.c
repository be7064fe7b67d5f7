/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A VM with a clock of its own on the last cores, and a writer with a reservation on the first two: see
 * TURN_US in tests/hyp/machine.py.
 */
#include "../core/config.h"

#ifndef DEED
#define DEED 0
#endif
#ifndef TARGET
#define TARGET 0 /* vCPU that gets the clock's interrupt */
#endif
/* 0: the clock is nobody's. */
#ifndef OWNED
#define OWNED 1
#endif
#ifndef CLOCK
#define CLOCK 0x09010000 /* QEMU, hw/arm/virt.c: a PL031 */
#endif
#ifndef INTERRUPT
#define INTERRUPT 34
#endif
#ifndef CLOCK_BYTES
#define CLOCK_BYTES 0x1000
#endif
#ifndef WRITERS_INTERRUPT
#define WRITERS_INTERRUPT 0 /* of a device that is not there */
#endif
#ifndef STATISTICS
#define STATISTICS 0x70000000 /* where the clock's VM has pages of statistics */
#endif
#define PERIOD_NS 100000

static const struct vm_config vms[] = {
    {
        .name = "alarm",
        .entry = 0x40000000,
        .arguments = {DEED, TARGET, 0x09010000, INTERRUPT},
        .memory = {{.guest_address = 0x40000000, .address = 0x48000000, .size = 0x200000}},
        .devices = {{.address = CLOCK, .size = OWNED ? CLOCK_BYTES : 0}},
        .interrupts = {OWNED ? INTERRUPT : 0},
        .cores = {2, 3},
        .vcpus = 2,
        .statistics = {.guest_address = STATISTICS, .of = 2},
    },
    {
        .name = "writer",
        .entry = 0x40000000,
        .arguments = {PERIOD_NS, 20, 2},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .interrupts = {WRITERS_INTERRUPT},
        .cores = {0, 1},
        .vcpus = 2,
        .reservation = {.budget = 250, .period_ns = PERIOD_NS},
    },
};

const struct machine_config machine_config = {.vm = vms, .vms = 2};
