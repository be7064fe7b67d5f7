/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * SLAM in virtual time: each stage computes at once on what it finds when it begins, and its result
 * is there when its service time is over. The same times give the same bytes.
 *
 * - The front-end takes one frame at a time. Of those that come meanwhile the newest waits, others are
 *   dropped.
 * - Keyframes wait for mapping in a queue that is bounded, the one that is being mapped included;
 *   while it is full no frame becomes a keyframe.
 * - Optimisation begins when mapping is done with a keyframe, unless it is still busy with another.
 */
#pragma once

#include "../euroc/sequence.hpp"
#include "../slam/front_end.hpp"
#include "job.hpp"
#include "service.hpp"

namespace ar_hud {

constexpr std::size_t mapping_queue_max = 3;

struct FrameRecord {
    std::size_t frame = 0;
    std::int64_t tick_ns = 0; /* when the cameras took it */
    bool dropped = false;     /* by the schedule, or since a newer one came */
    std::int64_t ready_ns = 0;
    Tracking tracking = Tracking::starting;
    std::size_t corners = 0;
    std::size_t inliers = 0;
    bool keyframe = false;
    Pose world_from_body = Pose::Identity();
};

struct Run {
    std::vector<FrameRecord> frames;   /* every one of the sequence */
    std::size_t keyframes_refused = 0; /* frames that might have become one but for a full queue */
    std::size_t optimisations = 0;
    std::size_t optimisations_skipped = 0;
    std::vector<Job> jobs; /* stage by stage, in the order of release */
};

/* `images` gives the raw images of a frame. `watch` is called from this thread. */
Run run_in_virtual_time(const StereoRig &rig, const std::vector<std::int64_t> &ticks_ns,
                        const std::function<StereoImages(std::size_t)> &images,
                        const Service &service, std::size_t queue_max = mapping_queue_max,
                        const StageWatch &watch = {});

} // namespace ar_hud
