/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Jobs of the stages: what happened to each frame, and to each keyframe. */
#pragma once

#include "stage.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace ar_hud {

/* Times are since the first tick: in virtual time by the sequence's clock, in real time by the wall's. */
struct Job {
    Stage stage = Stage::front_end;
    std::size_t frame = 0; /* that caused it */
    std::int64_t released_ns = 0;
    std::optional<std::int64_t> started_ns, finished_ns;
    std::optional<std::int64_t> dropped_ns; /* before it started */
};

/* Stage by stage, and of each stage in the order of release. */
void sort_jobs(std::vector<Job> &jobs);

/* What the jobs of a stage took from start to finish, in their order. */
std::vector<double> times_ms(const std::vector<Job> &jobs, Stage stage);

/*
 * A table with a row a job, which `ringfence import-run` reads:
 *
 *     stage,frame,released_ns,started_ns,finished_ns,dropped_ns
 *     front-end,0,0,1200,3604100,
 *     front-end,1,50000000,,,100000000
 *
 * Throws InputError if it cannot be written.
 */
void write_jobs(const std::filesystem::path &file, const std::vector<Job> &jobs);

const char *name_of(Stage stage);

} // namespace ar_hud
