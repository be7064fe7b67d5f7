/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What real time tells ringfence of its jobs, read from a log as ringfence would have made it. */
#include "engine/real_time.hpp"
#include "job_log_file.h"
#include "temporary_folder.hpp"
#include "wall_clip.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <spawn.h>
#include <string>
#include <sys/wait.h>

using namespace ar_hud;

namespace {

constexpr const char *variable = "RINGFENCE_JOBS";

} // namespace

/* In a process of its own, for the job API looks for its log once. */
TEST_CASE("the jobs of a clip are in the log", "[.told]") {
    const char *log = std::getenv(variable);
    if (!log)
        return;
    constexpr std::size_t frames = 40;
    const WallClip clip(frames);
    RealTimeOptions options;
    options.speed = 50;
    const Run done = run_in_real_time(clip.rig, clip.ticks_ns, clip.images, options);
    std::size_t processed = 0, keyframes = 0;
    for (const FrameRecord &frame : done.frames) {
        processed += !frame.dropped;
        keyframes += frame.keyframe;
    }
    const auto marks = [&](Stage stage, int kind) {
        return job_log_marks(log, static_cast<unsigned>(stage), kind);
    };
    CHECK(marks(Stage::front_end, job_log_released) == frames);
    CHECK(marks(Stage::front_end, job_log_begin) == processed);
    CHECK(marks(Stage::front_end, job_log_end) == processed);
    CHECK(marks(Stage::front_end, job_log_dropped) == frames - processed);
    for (int kind : {job_log_released, job_log_begin, job_log_end})
        CHECK(marks(Stage::mapping, kind) == keyframes);
    CHECK(marks(Stage::optimisation, job_log_released) == keyframes);
    CHECK(marks(Stage::optimisation, job_log_dropped) == done.optimisations_skipped);
    CHECK(marks(Stage::optimisation, job_log_end) == keyframes - done.optimisations_skipped);
    CHECK(job_log_is_left(log));
}

TEST_CASE("real time tells ringfence of every job") {
    const TemporaryFolder folder;
    const std::string log = (folder.path / "log").string();
    REQUIRE(job_log_make(log.c_str()));
    REQUIRE(setenv(variable, log.c_str(), 1) == 0);
    char program[] = "/proc/self/exe", test[] = "[.told]";
    char *arguments[] = {program, test, nullptr};
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
    unsetenv(variable);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    /* It was there at all. */
    CHECK(job_log_marks(log.c_str(), 0, job_log_released) == 40);
}
