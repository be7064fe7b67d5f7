/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The one counter of each core that EL2 keeps for reservations: the last one, beyond
 * MDCR_EL2.HPMN, so that guests could not reach it even if their accesses were not trapped.
 */
#ifndef RINGFENCE_HYP_PMU_H
#define RINGFENCE_HYP_PMU_H

#include <stdint.h>

/* Guests see no PMU. */
void pmu_init(void);
/* The counter has passed its end: so that the interrupt goes away. */
void pmu_clear_overflow(void);
/* A guest has written PMSWINC_EL0. Where that is the event that reservations count, it counts. */
void pmu_software_increment(uint64_t value);

#endif
