/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The PMU of each core. EL2 keeps one counter of it: the last one, beyond MDCR_EL2.HPMN, so that
 * guests could not reach it even if their accesses were not trapped.
 */
#ifndef RINGFENCE_HYP_PMU_H
#define RINGFENCE_HYP_PMU_H

/* Guests see no PMU. */
void pmu_init(void);

#endif
