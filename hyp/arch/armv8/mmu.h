/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * EL2's own memory, mapped one to one: code, constants, data and the devices that we drive. No
 * guest's memory is in it, so that no bug of ours reads or writes there.
 */
#ifndef RINGFENCE_HYP_MMU_H
#define RINGFENCE_HYP_MMU_H

/* Builds the tables; the first core, with its MMU off. */
void mmu_build(void);
/* Turns MMU and caches of this core on. */
void mmu_enable(void);

#endif
