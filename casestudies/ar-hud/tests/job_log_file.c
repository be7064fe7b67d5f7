/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "job_log_file.h"

#include <ringfence_jobs.h>
#include <stdio.h>

enum { slots = 8, events = 1024 };

_Static_assert((int)job_log_released == (int)RF_RELEASED && (int)job_log_begin == (int)RF_BEGIN &&
                   (int)job_log_end == (int)RF_END && (int)job_log_dropped == (int)RF_DROPPED,
               "kinds of marks");

static size_t file_bytes(void) {
    return sizeof(struct rf_header) + slots * rf_slot_bytes(events);
}

static struct rf_header *map(const char *path, int flags) {
    int file = open(path, O_RDWR | flags, 0600);
    void *bytes = MAP_FAILED;

    if (file >= 0 && ftruncate(file, (off_t)file_bytes()) == 0)
        bytes = mmap(NULL, file_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    return bytes == MAP_FAILED ? NULL : bytes;
}

static struct rf_slot *slot(struct rf_header *header, unsigned number) {
    return (struct rf_slot *)((char *)(header + 1) + number * rf_slot_bytes(events));
}

bool job_log_make(const char *path) {
    struct rf_header *header = map(path, O_CREAT | O_EXCL);

    if (!header)
        return false;
    memcpy(&header->magic, RF_MAGIC, sizeof(header->magic));
    header->version = RF_VERSION;
    header->slots = slots;
    header->events = events;
    munmap(header, file_bytes());
    return true;
}

size_t job_log_marks(const char *path, unsigned task, int kind) {
    struct rf_header *header = map(path, 0);
    const uint64_t wanted = (uint64_t)task << 32 | (uint32_t)kind;
    size_t marks = 0;

    if (!header)
        return SIZE_MAX;
    for (unsigned number = 0; number < slots; number++) {
        struct rf_slot *one = slot(header, number);
        struct rf_event *ring = (struct rf_event *)(one + 1);

        if (one->lost != 0)
            return SIZE_MAX;
        for (uint64_t n = 0; n < one->head; n++)
            marks += ring[n].what == wanted;
    }
    munmap(header, file_bytes());
    return marks;
}

bool job_log_is_left(const char *path) {
    struct rf_header *header = map(path, 0);
    unsigned taken = 0, left = 0;

    for (unsigned number = 0; header && number < slots; number++) {
        uint64_t owner = slot(header, number)->owner;

        taken += owner != 0;
        left += (owner & RF_LEFT) != 0;
    }
    return taken > 0 && taken == left;
}
