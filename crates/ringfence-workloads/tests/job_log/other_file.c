/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A second file of the program: it shares thread and log with the first. */
#include "ringfence_jobs.h"

void mark_from_another_file(void) {
    rf_job_begin();
    rf_job_end();
}
