/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Counts the cycles of a loop and prints them, or why the kernel does not count. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof(attributes),
        .config = PERF_COUNT_HW_CPU_CYCLES,
    };
    int counter = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    if (counter < 0) {
        printf("no counter: %s\n", strerror(errno));
        return 0;
    }
    /* Of libm, so that the program needs more than one library. */
    volatile double angle = 1.0;
    for (int i = 0; i < 100000; i++)
        angle = cos(angle);
    uint64_t cycles = 0;
    if (read(counter, &cycles, sizeof(cycles)) != sizeof(cycles))
        return 1;
    printf("cycles %llu\n", (unsigned long long)cycles);
    return 0;
}
