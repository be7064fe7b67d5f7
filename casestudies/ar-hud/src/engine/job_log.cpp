/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "job_log.hpp"

#include "../recording/job_api.h"

namespace ar_hud {

namespace {

/* Its number among the tasks of its gang. */
std::uint32_t task_of(Stage stage) {
    return static_cast<std::uint32_t>(stage);
}

std::uint64_t of_clock(std::int64_t time_ns) {
    return static_cast<std::uint64_t>(time_ns);
}

} // namespace

JobLog::JobLog(std::size_t most, const std::int64_t &start_ns) : start_ns(start_ns) {
    jobs.reserve(most);
}

JobLog::Place::Place(Stage stage) {
    ar_hud_jobs_register(task_of(stage));
}

JobLog::Place::~Place() {
    ar_hud_jobs_leave();
}

void JobLog::released(Stage stage, std::size_t frame, std::int64_t time_ns) {
    ar_hud_job_released(task_of(stage), frame, of_clock(time_ns));
}

void JobLog::begun(Stage stage, std::size_t frame, std::int64_t time_ns) {
    ar_hud_job_begin(task_of(stage), frame, of_clock(time_ns));
}

void JobLog::finished(Stage stage, std::size_t frame, std::int64_t released_ns,
                      std::int64_t started_ns, std::int64_t finished_ns) {
    ar_hud_job_end(task_of(stage), frame, of_clock(finished_ns));
    jobs.push_back(
        {stage, frame, released_ns - start_ns, started_ns - start_ns, finished_ns - start_ns, {}});
}

void JobLog::dropped(Stage stage, std::size_t frame, std::int64_t released_ns,
                     std::int64_t dropped_ns) {
    ar_hud_job_dropped(task_of(stage), frame, of_clock(dropped_ns));
    jobs.push_back({stage, frame, released_ns - start_ns, {}, {}, dropped_ns - start_ns});
}

} // namespace ar_hud
