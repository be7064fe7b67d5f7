/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * AMD ZCU104: the four Cortex-A53 of its Zynq UltraScale+ MPSoC.
 *
 *   [DTS]    Linux, arch/arm64/boot/dts/xilinx/zynqmp.dtsi and zynqmp-zcu104-revA.dts
 *   [UG1085] AMD UG1085, Zynq UltraScale+ Technical Reference Manual, "Interrupts"
 *   [TF-A]   Trusted Firmware-A, plat/xilinx/zynqmp/include/platform_def.h
 */
#include "../../core/platform.h"

/* The GIC-400 has a window of 64 KiB for each of its 4 KiB pages, which is in it 16 times. The last
 * page of a window and the first of the next one are therefore two pages in a row. */
#define LAST_OF_WINDOW 0xf000

const struct platform platform = {
    .name = "zcu104",
    .cores = 4,
    .affinity = {0, 1, 2, 3},
    /*
     * [DTS]: 2 GiB from 0. The first 2 MiB have Trusted Firmware if it is built with debugging
     * ([TF-A]); the last 2 MiB are left to what board packages reserve at the end. With a secure
     * operating system more is not ours, and this has to be changed.
     */
    .ram = {{0x00200000, 0x7fc00000}},
    .llc = {0x100000, 16}, /* [UG1085] "L2 Memory Subsystem" */
    .uart = 0xff000000,    /* [DTS] serial0 */
    .uart_interrupt = 53,  /* there: shared interrupt 21 */
    /* [DTS] interrupt-controller@f9010000; [UG1085] */
    .distributor = 0xf9010000,
    .cpu_interface = 0xf9020000 + LAST_OF_WINDOW,
    .virtual_control = 0xf9040000,
    .virtual_cpu_interface = 0xf9060000 + LAST_OF_WINDOW,
    .period_interrupt = 26,      /* [DTS] timer: PPI 10 */
    .guest_timer_interrupt = 27, /* PPI 11 */
    .maintenance_interrupt = 25, /* [DTS] interrupt-controller: PPI 9 */
    /* [DTS] pmu: shared interrupts 143 to 146, one for each core. */
    .counter_interrupt = {175, 176, 177, 178},
    /* BUS_ACCESS: Arm DDI 0500 (Cortex-A53 TRM), "Performance Monitor Unit", events. */
    .memory_event = 0x19,
};
