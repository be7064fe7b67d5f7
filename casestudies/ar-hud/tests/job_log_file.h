/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A log of the job API in a file, as the agent makes it and reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    job_log_released = 1,
    job_log_begin = 2,
    job_log_end = 3,
    job_log_dropped = 4,
};

/* Makes an empty one; false if it cannot be written. */
bool job_log_make(const char *path);

/* Marks of a kind that threads have made for a task; SIZE_MAX if some were lost or it cannot be read. */
size_t job_log_marks(const char *path, unsigned task, int kind);

/* Whether threads have taken places in it, and all have left them. */
bool job_log_is_left(const char *path);

#ifdef __cplusplus
}
#endif
