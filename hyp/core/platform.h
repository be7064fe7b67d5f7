/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a board has, and where: one descriptor a board, in hyp/platform/. */
#ifndef RINGFENCE_HYP_PLATFORM_H
#define RINGFENCE_HYP_PLATFORM_H

#include <stdint.h>

#define MAX_CORES 8U
#define MAX_RAMS 2U

/* A piece of RAM that nobody else has: neither firmware, nor a processor that is not ours. */
struct ram {
    uint64_t start;
    uint64_t size; /* bytes; 0: no piece */
};

/* A cache. */
struct cache {
    uint64_t size; /* bytes; 0: none that is known */
    uint64_t ways;
};

struct platform {
    const char *name;
    uint32_t cores;
    uint64_t affinity[MAX_CORES]; /* of each core, as in MPIDR_EL1 */
    struct ram ram[MAX_RAMS];     /* in the order of their addresses, ends aligned to 2 MiB */
    struct cache llc;             /* the last level, which all cores share */
    uint64_t uart;
    uint32_t uart_interrupt; /* a shared one */
    uint64_t distributor;    /* of the GIC */
    uint64_t redistributors; /* GICv3: 128 KiB a core, in the order of the cores */
    uint64_t cpu_interface;  /* GICv2: GICC, GICH, GICV */
    uint64_t virtual_control;
    uint64_t virtual_cpu_interface;
    uint64_t spin_table; /* firmware raspberry-pi: a word a core; what turns the machine off */
    uint64_t power_manager;
    uint32_t period_interrupt;      /* of the EL2 timer, CNTHP */
    uint32_t guest_timer_interrupt; /* of the virtual timer, CNTV */
    uint32_t maintenance_interrupt; /* of the virtual interrupt interface */
    uint64_t bus_monitor;           /* counts and interrupts in place of the PMU, if it is not 0 */
    /* Of each core's PMU: the same private interrupt everywhere, or a shared one for each. */
    uint32_t counter_interrupt[MAX_CORES];
    uint32_t memory_event; /* PMU event that reservations count */
};

extern const struct platform platform;

#endif
