/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "staleness.hpp"

#include "errors.hpp"

namespace ar_hud {

std::vector<double> staleness_errors(const std::vector<ReadyPose> &poses,
                                     const std::vector<std::int64_t> &ticks_ns,
                                     const Trajectory &truth, const Pose &world_from_estimate,
                                     std::int64_t display_delay_ns, double none_m) {
    std::vector<double> errors;
    const ReadyPose *shown = nullptr;
    auto next = poses.begin();
    for (std::int64_t tick_ns : ticks_ns) {
        /* What comes with the next tick is not for this one, however long the display waits. */
        for (; next != poses.end() && next->timestamp_ns <= tick_ns &&
               next->ready_ns <= tick_ns + display_delay_ns;
             next++)
            /* A late pose of an old frame does not replace that of a newer one. */
            if (!shown || next->timestamp_ns > shown->timestamp_ns)
                shown = &*next;
        const Pose held = shown ? shown->world_from_body : Pose::Identity();
        const auto pairs = associate({{tick_ns, held}}, truth);
        if (pairs.empty())
            continue;
        errors.push_back(shown ? absolute_errors(pairs, world_from_estimate).front() : none_m);
    }
    return errors;
}

} // namespace ar_hud
