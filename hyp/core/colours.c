/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "colours.h"

#include "platform.h"

uint32_t colours_of_platform(void) {
    const struct cache *llc = &platform.llc;
    return llc->ways ? (uint32_t)(llc->size / llc->ways / COLOURS_PAGE_BYTES) : 0;
}

static uint32_t colours_in(uint64_t mask) {
    uint32_t colours = 0;
    for (; mask; mask &= mask - 1)
        colours++;
    return colours;
}

uint64_t colours_span(const struct memory_region *region) {
    if (!region->colours)
        return region->size;
    uint64_t a_round = colours_in(region->colours) * COLOURS_PAGE_BYTES;
    uint64_t rounds = region->size / a_round + (region->size % a_round != 0);
    return rounds * colours_of_platform() * COLOURS_PAGE_BYTES;
}

uint64_t colours_next(const struct memory_region *region, uint64_t address) {
    uint32_t colours = colours_of_platform();
    while (!(region->colours >> address / COLOURS_PAGE_BYTES % colours & 1))
        address += COLOURS_PAGE_BYTES;
    return address;
}

bool colours_overlap(const struct memory_region *a, const struct memory_region *b) {
    uint64_t of_a = a->colours ? a->colours : ~0ULL, of_b = b->colours ? b->colours : ~0ULL;
    return of_a & of_b && config_overlap(a->address, colours_span(a), b->address, colours_span(b));
}

const char *colours_error(const struct memory_region *region) {
    uint32_t colours = colours_of_platform();
    if (!region->colours)
        return 0;
    /* A power of two up to as many as a mask has: then regions begin with a round, too. */
    if (!colours || colours > MAX_COLOURS || colours & (colours - 1))
        return "a memory region has colours, and the platform has not 1 to 64, a power of two";
    if (colours < MAX_COLOURS && region->colours >> colours)
        return "a memory region has a colour that the platform's cache has not";
    return 0;
}
