/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Page colours: pages divide the sets of the last-level cache that all cores share. Page n of the
 * machine has colour n mod the number of colours, so that pages of different colours never compete
 * for a set.
 *
 * A coloured region has, of the machine's pages from its address on, those of its colours, in their
 * order. It begins with a round: as many pages in a row as there are colours, one of each.
 */
#ifndef RINGFENCE_HYP_COLOURS_H
#define RINGFENCE_HYP_COLOURS_H

#include "config.h"

#define COLOURS_PAGE_BYTES 4096U
/* As many as a mask has bits. */
#define MAX_COLOURS 64U

/* How many the platform has. */
uint32_t colours_of_platform(void);
/* Bytes of the machine from the region's address to its end, what is others' in between included. */
uint64_t colours_span(const struct memory_region *region);
/* The first page of a coloured region's colours from that address of the machine on. */
uint64_t colours_next(const struct memory_region *region, uint64_t address);
/* Whether two regions have a page of the machine in common. Of the last round of a coloured one,
 * each of its colours counts, whether it has that page or not. */
bool colours_overlap(const struct memory_region *a, const struct memory_region *b);
/* Null if the platform has the region's colours; else what is wrong. */
const char *colours_error(const struct memory_region *region);

#endif
