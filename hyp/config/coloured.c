/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Two painters of other colours in one span of the memory, and a writer of some colours. */
#include "../core/config.h"

#ifndef LOW
#define LOW 0x00ff
#endif
#ifndef HIGH
#define HIGH 0xff00
#endif
#ifndef WRITERS
#define WRITERS 0x0f0f
#endif
#ifndef HIGH_ADDRESS
#define HIGH_ADDRESS 0x44000000
#endif
#ifndef BYTES
#define BYTES 0x1000000
#endif
#ifndef PERIODS
#define PERIODS 20
#endif
#ifndef BUDGET
#define BUDGET 250
#endif
/* More regions of the first one, all in the same pages. */
#ifdef AGAIN
#define MORE                                                                                       \
    {0x80000000, 0x41000000, AGAIN, LOW}, {0xc0000000, 0x41000000, AGAIN, LOW}, {                  \
        0x100000000, 0x41000000, AGAIN, LOW                                                        \
    }
#else
#define MORE {0}
#endif

static const struct vm_config vms[] = {
    {
        .name = "low",
        .entry = 0x40000000,
        .arguments = {1, BYTES},
        .memory = {{0x40000000, 0x44000000, BYTES, LOW}, MORE},
        .cores = {2},
        .vcpus = 1,
    },
    {
        .name = "high",
        .entry = 0x40000000,
        .arguments = {2, BYTES},
        .memory = {{0x40000000, HIGH_ADDRESS, BYTES, HIGH}},
        .cores = {3},
        .vcpus = 1,
    },
    {
        .name = "writer",
        .entry = 0x40000000,
        .arguments = {100000, PERIODS, 2},
        .memory = {{0x40000000, 0x48000000, 0x1000000, WRITERS}},
        .cores = {0, 1},
        .vcpus = 2,
        .reservation = {.budget = BUDGET, .period_ns = 100000},
    },
};

const struct machine_config machine_config = {.vm = vms, .vms = 3};
