/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A device that sees the traffic of each core's own cache, for machines whose PMU counts none: a
 * page with a line for each core. The interrupt of a core (platform.h: counter_interrupt) is up
 * while its counts are together at its limit or above. tests/hyp/plugin is such a device for QEMU.
 */
#ifndef RINGFENCE_HYP_BUS_MONITOR_H
#define RINGFENCE_HYP_BUS_MONITOR_H

#include <stdint.h>

struct bus_monitor_core {
    /* Cache lines that the core's guest has had moved, since the machine was turned on. */
    uint64_t fills;       /* into its data cache */
    uint64_t write_backs; /* out of it, because they were changed */
    uint64_t limit;       /* 0: there is none */
    uint64_t reserved[5];
};

#endif
