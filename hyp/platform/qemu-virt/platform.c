/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* QEMU's machine `virt`, with virtualization=on,gic-version=3 and 4 cores: hw/arm/virt.c. */
#include "../../core/platform.h"

const struct platform platform = {
    .name = "qemu-virt",
    .cores = 4,
    .affinity = {0, 1, 2, 3},
    .ram = {{0x40000000, 0x40000000}},
    /* QEMU has no caches. This is what its Cortex-A53 and A72 say that they have: CCSIDR_EL1 of the
     * second level. */
    .llc = {0x100000, 16},
    .uart = 0x09000000,
    .uart_interrupt = 33,
    .distributor = 0x08000000,
    .redistributors = 0x080a0000,
    .period_interrupt = 26,
    .guest_timer_interrupt = 27,
    .maintenance_interrupt = 25,
    .counter_interrupt = {23, 23, 23, 23},
    /* SW_INCR: the one event that QEMU counts exactly on several cores. Guests count it
     * themselves, with PMSWINC_EL0. On hardware it is BUS_ACCESS (0x19). */
    .memory_event = 0x00,
};
