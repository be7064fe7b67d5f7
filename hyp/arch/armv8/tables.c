/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "tables.h"

#include "../../core/arch.h"
#include "../../core/colours.h"
#include "../../core/console.h"

#define ENTRIES (PAGE_BYTES / sizeof(uint64_t))
#define BLOCK_BYTES (ENTRIES * PAGE_BYTES)
#define LAST_LEVEL 3U
#define LEVEL_SHIFT(level) (12U + 9U * (LAST_LEVEL - (level)))
/* Ours: a root, a second level and a third one for the image and each device. A VM's: a root, one
 * more a GiB, and two at most for each device. */
#define TABLES 128U
/* Of coloured regions, one a block of 2 MiB: enough for 2 GiB, and for half of that in half of the
 * colours. */
#define COLOURED_TABLES 1024U
#define ROUND_BYTES (MAX_COLOURS * COLOURS_PAGE_BYTES)

static uint64_t tables[TABLES][ENTRIES] __attribute__((aligned(PAGE_BYTES)));
static uint32_t tables_used;
/* It begins with a round of colours. All entries of those that are used are written. */
static uint64_t coloured_tables[COLOURED_TABLES][ENTRIES]
    __attribute__((aligned(ROUND_BYTES), section(".noinit")));
static uint32_t coloured_used[MAX_COLOURS];

/* How many are needed is the configuration's matter, so that none is missing at run time. */
static void refuse(const char *which) {
    print("ringfence: the configuration cannot be used: it needs more translation tables%s than "
          "there are\n",
          which);
    arch_power_off();
}

uint64_t *tables_new(void) {
    if (tables_used == TABLES)
        refuse("");
    return tables[tables_used++];
}

/* Of a region's colours, so that walks through it take no sets of others. */
static uint64_t *new_coloured(uint64_t mask) {
    uint32_t colours = colours_of_platform(), least = 0;
    for (uint32_t colour = 0; colour < colours; colour++)
        if (mask >> colour & 1 &&
            (!(mask >> least & 1) || coloured_used[colour] < coloured_used[least]))
            least = colour;
    uint32_t table = coloured_used[least]++ * colours + least;
    if (table >= COLOURED_TABLES)
        refuse(" of a VM's colours");
    return coloured_tables[table];
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

void tables_map_coloured(uint64_t *root, const struct memory_region *region, uint64_t attributes) {
    uint64_t *level3 = 0, output = region->address;
    for (uint64_t offset = 0; offset < region->size; offset += PAGE_BYTES) {
        uint64_t input = region->guest_address + offset;
        if (input % BLOCK_BYTES == 0) {
            level3 = new_coloured(region->colours);
            uint64_t *level2 = table_below(entry_of(root, input, 1));
            *entry_of(level2, input, 2) = (uintptr_t)level3 | DESCRIPTOR_VALID | DESCRIPTOR_TABLE;
        }
        output = colours_next(region, output);
        *entry_of(level3, input, 3) = descriptor(output, attributes, DESCRIPTOR_TABLE);
        output += PAGE_BYTES;
    }
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
