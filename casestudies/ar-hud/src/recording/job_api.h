/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * ringfence's job API (crates/ringfence-workloads/include/ringfence_jobs.h), which is C11 and no C++:
 * what SLAM's threads say of their jobs. Tasks are the stages, by their number; times are those of
 * CLOCK_MONOTONIC. Unless ringfence has started the program every call does nothing.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before the first job of a thread, and after the last. */
void ar_hud_jobs_register(uint32_t task);
void ar_hud_jobs_leave(void);

/* Of any task, whichever the calling thread has registered for. */
void ar_hud_job_released(uint32_t task, uint64_t job, uint64_t time_ns);
void ar_hud_job_dropped(uint32_t task, uint64_t job, uint64_t time_ns);
void ar_hud_job_begin(uint32_t task, uint64_t job, uint64_t time_ns);
void ar_hud_job_end(uint32_t task, uint64_t job, uint64_t time_ns);

#ifdef __cplusplus
}
#endif
