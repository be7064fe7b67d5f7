/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * SLAM in real time: a thread a stage, and the cameras' ticks by the clock. The rules are those of
 * virtual time (virtual_time.hpp): the newest frame wins, the queue of mapping is bounded, optimisation
 * that is busy is skipped. Here the stages see at most the latest keyframes; see shared_map.hpp.
 */
#pragma once

#include "virtual_time.hpp"

#include <string>

namespace ar_hud {

struct ThreadPlace {
    int priority = 0;       /* of SCHED_FIFO, 1 to 99; 0: as any other thread */
    std::vector<int> cores; /* none: all that the program may use */
};

struct RealTimeOptions {
    double speed = 1; /* how much faster than they were taken the frames come */
    ThreadPlace front_end, mapping, optimisation;
    bool lock_memory = false;
};

/*
 * In the result `ready_ns` is by the sequence's clock, which runs `speed` times as fast as the wall's; the
 * jobs are by the wall's. Jobs are told to ringfence, too, if that has started the program
 * (recording/job_api.h): tasks 0, 1 and 2 are the stages, and a job has the number of its frame.
 *
 * `images` are there before the clock starts: to decode them is not the front-end's work. The thread
 * that plays the cameras has one priority more than the highest of the stages'.
 *
 * Throws std::runtime_error, before any frame, if a thread cannot have its place or memory cannot be
 * locked; and what a stage throws, once all threads have ended.
 */
Run run_in_real_time(const StereoRig &rig, const std::vector<std::int64_t> &ticks_ns,
                     const std::vector<StereoImages> &images, const RealTimeOptions &options);

} // namespace ar_hud
