/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a head-up display draws: at each tick of the camera, the last pose that was ready by then.
 * A dropped or late frame shows here even if the pose, once there, is right.
 */
#pragma once

#include "../trajectory/trajectory.hpp"

#include <vector>

namespace ar_hud {

/* A pose of the frame taken at `timestamp_ns`, which was ready at `ready_ns`. */
struct ReadyPose {
    std::int64_t timestamp_ns = 0;
    std::int64_t ready_ns = 0;
    Pose world_from_body = Pose::Identity();
};

/*
 * For each tick, of those with a true pose within `apart_max_ns`: the distance, in metres, of
 * the newest pose ready within `display_delay_ns` after the tick, of those taken by then, from where
 * the body is at the tick. A tick before the first pose counts as `none_m`. `poses` are in the order of `ready_ns`.
 */
std::vector<double> staleness_errors(const std::vector<ReadyPose> &poses,
                                     const std::vector<std::int64_t> &ticks_ns,
                                     const Trajectory &truth, const Pose &world_from_estimate,
                                     std::int64_t display_delay_ns, double none_m);

} // namespace ar_hud
