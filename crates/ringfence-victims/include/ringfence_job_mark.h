/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Tells `ringfence trace record` where the jobs of a program begin and end.
 *
 *     volatile unsigned char *marks = ringfence_job_marks_map();
 *     for (;;) {
 *             ringfence_job_begin(marks);
 *             ... one job ...
 *             ringfence_job_end(marks);
 *     }
 *
 * A mark is a store of one byte into a page at a fixed address, which the
 * recorder recognises. Outside a recording it is just that store. If the page
 * cannot be mapped, `marks` is NULL and marks do nothing. Map once a process;
 * begin and end alternate, from one thread. For 64-bit Linux, in C11 or C++; needs
 * _DEFAULT_SOURCE (or _GNU_SOURCE) with -std=c11.
 */
#ifndef RINGFENCE_JOB_MARK_H
#define RINGFENCE_JOB_MARK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define RINGFENCE_JOB_MARK_ADDRESS 0x66d610000
#define RINGFENCE_JOB_MARK_BEGIN 0
#define RINGFENCE_JOB_MARK_END 64
#define RINGFENCE_JOB_MARK_BYTES 4096

/* C libraries older than Linux 4.17 do not name it. */
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#if UINTPTR_MAX != UINT64_MAX
#error "job marks need 64-bit addresses"
#endif

/* Maps the page of the marks; NULL if its place is taken. */
static inline volatile unsigned char *ringfence_job_marks_map(void) {
    void *place = (void *)(uintptr_t)RINGFENCE_JOB_MARK_ADDRESS;
    void *page = mmap(place, RINGFENCE_JOB_MARK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    /* Kernels before 4.17 take the address as a hint. */
    if (page != place) {
        munmap(page, RINGFENCE_JOB_MARK_BYTES);
        return NULL;
    }
    return (volatile unsigned char *)page;
}

/* The job's own accesses stay on their side of the mark. */
static inline void ringfence_job_mark(volatile unsigned char *marks, size_t offset) {
    if (!marks)
        return;
    __asm__ volatile("" ::: "memory");
    marks[offset] = 1;
    __asm__ volatile("" ::: "memory");
}

/* A job begins. */
static inline void ringfence_job_begin(volatile unsigned char *marks) {
    ringfence_job_mark(marks, RINGFENCE_JOB_MARK_BEGIN);
}

/* The job ends. */
static inline void ringfence_job_end(volatile unsigned char *marks) {
    ringfence_job_mark(marks, RINGFENCE_JOB_MARK_END);
}

#endif
