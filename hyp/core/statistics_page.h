/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What guests read of a VM's reservation: a page that they cannot write, at an address of the
 * configuration. Numbers are little-endian. It is normal memory, written with the caches on.
 *
 * The header never changes. Behind it each vCPU has a line of its own, which its core alone
 * writes. To read one that is consistent: read `sequence` until it is even, then the rest, then
 * `sequence` again, all in this order; if it is another one, start anew.
 *
 * A line is new whenever the vCPU begins a period, has used its share up, starts or stops: what
 * it has used since is not in it yet.
 */
#ifndef RINGFENCE_HYP_STATISTICS_PAGE_H
#define RINGFENCE_HYP_STATISTICS_PAGE_H

#include <stdint.h>

#define STATISTICS_MAGIC 0x74736672U /* "rfst" */
#define STATISTICS_VERSION 1U
#define STATISTICS_PAGE_BYTES 4096U
/* No two lines share a cache line, on cores where these are 128 bytes. */
#define STATISTICS_LINE_BYTES 128U
#define STATISTICS_LINES 8U

struct statistics_header {
    uint32_t magic;
    uint32_t version;
    uint32_t line_bytes; /* of the header, and of each vCPU's line behind it */
    uint32_t vcpus;
    uint32_t vm; /* its number */
} __attribute__((aligned(STATISTICS_LINE_BYTES)));

struct statistics_line {
    uint64_t sequence;     /* odd while the line is written; 0: the vCPU has never begun a period */
    uint64_t period;       /* number of the one that it is in */
    uint64_t period_ns;    /* length of that one */
    uint64_t budget;       /* of the VM in it, in events */
    uint64_t share;        /* of the vCPU */
    uint64_t used;         /* events in all periods */
    uint64_t overruns;     /* those of them that were beyond the shares, and paid back later */
    uint64_t refills;      /* periods that it has begun */
    uint64_t throttles;    /* how often it had to stand still */
    uint64_t throttled_ns; /* and for how long, up to when the line was written */
    uint64_t lent;         /* events that it gave out of its shares, see policy's lending.h */
    uint64_t borrowed;     /* those of the used ones that it had from others */
} __attribute__((aligned(STATISTICS_LINE_BYTES)));

struct statistics_page {
    struct statistics_header header;
    struct statistics_line vcpu[STATISTICS_LINES];
} __attribute__((aligned(STATISTICS_PAGE_BYTES)));

_Static_assert(sizeof(struct statistics_header) == STATISTICS_LINE_BYTES, "one line");
_Static_assert(sizeof(struct statistics_line) == STATISTICS_LINE_BYTES, "one line");
_Static_assert(sizeof(struct statistics_page) == STATISTICS_PAGE_BYTES, "one page");

#endif
