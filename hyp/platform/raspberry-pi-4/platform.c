/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Raspberry Pi 4 Model B with 4 GB: the four Cortex-A72 of its BCM2711, its peripherals at their low
 * addresses.
 *
 *   [DTS]  Linux, arch/arm/boot/dts/broadcom/bcm2711.dtsi; its 0x7e000000 is 0xfe000000 for us, its
 *          0x40000000 is 0xff800000
 *   [BCM]  BCM2711 ARM Peripherals, 1.2 "Address map"
 *   [STUB] raspberrypi/tools, armstubs/armstub8.S
 */
#include "../../core/platform.h"

const struct platform platform = {
    .name = "raspberry-pi-4",
    .cores = 4,
    .affinity = {0, 1, 2, 3}, /* [DTS] */
    /*
     * The first 2 MiB have the firmware's stub, in which the other cores wait. The last 76 MiB of
     * the first GiB are the VideoCore's, unless config.txt says otherwise (`gpu_mem`); peripherals
     * begin at 0xfc000000 ([BCM]). With less than 4 GB the second piece ends earlier: what has no
     * address of its own is put into the first one as long as that has room.
     */
    .ram = {{0x00200000, 0x3b200000}, {0x40000000, 0xbc000000}},
    .llc = {0x100000, 16}, /* [DTS] l2-cache; Arm 100095, 7.1 */
    .uart = 0xfe201000,    /* [DTS] serial@7e201000, UART0 */
    .uart_interrupt = 153, /* there: shared interrupt 121, that of all its PL011s */
    /* [DTS] interrupt-controller@40041000 */
    .distributor = 0xff841000,
    .cpu_interface = 0xff842000,
    .virtual_control = 0xff844000,
    .virtual_cpu_interface = 0xff846000,
    .spin_table = 0xd8,          /* [DTS] cpu-release-addr; [STUB] */
    .power_manager = 0xfe100000, /* [DTS] watchdog@7e100000 */
    .period_interrupt = 26,      /* [DTS] timer: PPI 10 */
    .guest_timer_interrupt = 27, /* PPI 11 */
    .maintenance_interrupt = 25, /* [DTS] interrupt-controller: PPI 9 */
    /* [DTS] pmu: shared interrupts 16 to 19, one for each core. */
    .counter_interrupt = {48, 49, 50, 51},
    /* BUS_ACCESS: Arm 100095 (Cortex-A72 TRM), "Performance Monitor Unit", events. */
    .memory_event = 0x19,
};
