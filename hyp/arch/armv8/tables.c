/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "tables.h"

#include "../../core/arch.h"
#include "../../core/console.h"

#define ENTRIES (PAGE_BYTES / sizeof(uint64_t))
#define BLOCK_BYTES (ENTRIES * PAGE_BYTES)
#define LAST_LEVEL 3U
#define LEVEL_SHIFT(level) (12U + 9U * (LAST_LEVEL - (level)))
/* Ours: a root, a second level and a third one for the image and each device. A VM's: a root, one
 * more a GiB, and two at most for each device. */
#define TABLES 128U

static uint64_t tables[TABLES][ENTRIES] __attribute__((aligned(PAGE_BYTES)));
static uint32_t tables_used;

uint64_t *tables_new(void) {
    /* How many are needed is the configuration's matter, so that none is missing at run time. */
    if (tables_used == TABLES) {
        print("ringfence: the configuration needs more translation tables than there are\n");
        arch_power_off();
    }
    return tables[tables_used++];
}

static uint64_t *entry_of(uint64_t *table, uint64_t input, uint32_t level) {
    return &table[(input >> LEVEL_SHIFT(level)) % ENTRIES];
}

static uint64_t *table_below(uint64_t *entry) {
    if (!(*entry & DESCRIPTOR_VALID))
        *entry = (uintptr_t)tables_new() | DESCRIPTOR_VALID | DESCRIPTOR_TABLE;
    return (uint64_t *)(uintptr_t)(*entry & DESCRIPTOR_ADDRESS);
}

static uint64_t descriptor(uint64_t output, uint64_t attributes, uint64_t kind) {
    return attributes == NOT_MAPPED ? 0 : output | attributes | kind | DESCRIPTOR_VALID;
}

void tables_map(uint64_t *root, uint64_t input, uint64_t output, uint64_t size,
                uint64_t attributes) {
    while (size) {
        uint64_t *level2 = table_below(entry_of(root, input, 1));
        uint64_t step = BLOCK_BYTES;
        if ((input | output) % BLOCK_BYTES == 0 && size >= BLOCK_BYTES) {
            *entry_of(level2, input, 2) = descriptor(output, attributes, 0);
        } else {
            uint64_t *level3 = table_below(entry_of(level2, input, 2));
            *entry_of(level3, input, 3) = descriptor(output, attributes, DESCRIPTOR_TABLE);
            step = PAGE_BYTES;
        }
        input += step;
        output += step;
        size -= step;
    }
}
