/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What counts the events that reservations have: one of the files in counter/, as platform.mk says
 * (COUNTER). The rest of what they do is in core/arch.h. */
#ifndef RINGFENCE_HYP_COUNTER_H
#define RINGFENCE_HYP_COUNTER_H

#include <stdint.h>

/* `last` is the last of the PMU's event counters, which is EL2's. */
void counter_init(uint32_t last);
/* It has come to its end: so that the interrupt goes away. */
void counter_clear_overflow(void);
/* A guest has written PMSWINC_EL0. Where that is the event that reservations count, it counts. */
void counter_software_increment(uint64_t value);

#endif
