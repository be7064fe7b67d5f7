/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "job_api.h"

#include <ringfence_jobs.h>

void ar_hud_jobs_register(uint32_t task) {
    /* Without a place in the log the marks do nothing, and SLAM goes on. */
    (void)rf_thread_register(task);
}

void ar_hud_jobs_leave(void) {
    rf_thread_leave();
}

static void mark(enum rf_kind kind, uint32_t task, uint64_t job, uint64_t time_ns) {
    /* A thread that has its place keeps it; only the task of its marks changes. */
    (void)rf_thread_register(task);
    rf_mark(kind, job, time_ns);
}

void ar_hud_job_released(uint32_t task, uint64_t job, uint64_t time_ns) {
    mark(RF_RELEASED, task, job, time_ns);
}

void ar_hud_job_dropped(uint32_t task, uint64_t job, uint64_t time_ns) {
    mark(RF_DROPPED, task, job, time_ns);
}

void ar_hud_job_begin(uint32_t task, uint64_t job, uint64_t time_ns) {
    mark(RF_BEGIN, task, job, time_ns);
}

void ar_hud_job_end(uint32_t task, uint64_t job, uint64_t time_ns) {
    mark(RF_END, task, job, time_ns);
}
