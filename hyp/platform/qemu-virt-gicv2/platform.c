/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* QEMU's machine `virt`, with virtualization=on,gic-version=2 and 4 cores: hw/arm/virt.c. */
#include "../../core/platform.h"

const struct platform platform = {
    .name = "qemu-virt-gicv2",
    .cores = 4,
    .affinity = {0, 1, 2, 3},
    .ram = {{0x40000000, 0x40000000}},
    .llc = {0x100000, 16}, /* as qemu-virt */
    .uart = 0x09000000,
    .uart_interrupt = 33,
    .distributor = 0x08000000,
    .cpu_interface = 0x08010000,
    .virtual_control = 0x08030000,
    .virtual_cpu_interface = 0x08040000,
    .period_interrupt = 26,
    .guest_timer_interrupt = 27,
    .maintenance_interrupt = 25,
    .counter_interrupt = {23, 23, 23, 23},
    /* SW_INCR: the one event that QEMU counts exactly on several cores. Guests count it
     * themselves, with PMSWINC_EL0. On hardware it is BUS_ACCESS (0x19). */
    .memory_event = 0x00,
};
