/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* qemu-virt with a bus monitor, which is a plugin of QEMU's: tests/hyp/plugin. */
#include "../../core/platform.h"

const struct platform platform = {
    .name = "qemu-virt-bus",
    .cores = 4,
    .affinity = {0, 1, 2, 3},
    .ram = {{0x40000000, 0x3fe00000}},
    .llc = {0x100000, 16}, /* as qemu-virt; the plugin models none */
    .uart = 0x09000000,
    .uart_interrupt = 33,
    .distributor = 0x08000000,
    .redistributors = 0x080a0000,
    .period_interrupt = 26,
    .guest_timer_interrupt = 27,
    .maintenance_interrupt = 25,
    .counter_interrupt = {22, 22, 22, 22}, /* that no other device has */
    .bus_monitor = 0x7fe00000,
};
