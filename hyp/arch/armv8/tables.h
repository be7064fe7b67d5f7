/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Translation tables, VMSAv8-64 with 4 KiB granule (DDI 0487 D8): 39 bits of input address in three
 * levels, for EL2's own addresses and for the guests' (stage 2) alike.
 */
#ifndef RINGFENCE_HYP_TABLES_H
#define RINGFENCE_HYP_TABLES_H

#include "../../core/config.h"
#include "sysreg.h"

#define INPUT_BITS 39U
#define PAGE_BYTES 4096U

/* D8.3 "Translation table descriptor formats" */
#define DESCRIPTOR_VALID BIT(0)
#define DESCRIPTOR_TABLE BIT(1) /* a table; at the last level: a page */
#define DESCRIPTOR_ADDRESS (BITS(~0ULL, 35, 0) << 12)
#define INNER_SHAREABLE (3ULL << 8)
#define ACCESSED BIT(10)
#define EXECUTE_NEVER BIT(54)
#define STAGE1_ATTRIBUTE(n) ((uint64_t)(n) << 2) /* of MAIR_EL2 */
#define STAGE1_AP1_RES1 BIT(6)
#define STAGE1_READ_ONLY BIT(7)
#define STAGE2_DEVICE (1ULL << 2)  /* nGnRE */
#define STAGE2_NORMAL (15ULL << 2) /* write-back, unless the guest wants less */
#define STAGE2_READ BIT(6)
#define STAGE2_WRITE BIT(7)
/* In place of all of them: takes out what was mapped. */
#define NOT_MAPPED 0ULL

/* An empty root table. Tables are never given back. */
uint64_t *tables_new(void);
/* Maps whole blocks of 2 MiB, a page at a time, in tables of the region's own colours. */
void tables_map_coloured(uint64_t *root, const struct memory_region *region, uint64_t attributes);
/*
 * Maps `size` bytes at `input` to `output`, in blocks of 2 MiB where both allow it; all are
 * multiples of 4 KiB.
 */
void tables_map(uint64_t *root, uint64_t input, uint64_t output, uint64_t size,
                uint64_t attributes);

#endif
