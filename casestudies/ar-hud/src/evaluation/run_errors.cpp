/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "run_errors.hpp"

#include "staleness.hpp"

#include <algorithm>

namespace ar_hud {

namespace {

constexpr std::int64_t display_delay_ns = 50'000'000;

double percentile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

} // namespace

Trajectory trajectory_of(const Run &run, std::size_t every) {
    Trajectory trajectory;
    for (const FrameRecord &frame : run.frames)
        if (!frame.dropped && frame.frame % every == 0)
            trajectory.push_back({frame.tick_ns, frame.world_from_body});
    return trajectory;
}

Trajectory truth_of(const Run &run, const Trajectory &truth, std::size_t every) {
    Trajectory ticks, trajectory;
    for (const FrameRecord &frame : run.frames)
        if (frame.frame % every == 0)
            ticks.push_back({frame.tick_ns, Pose::Identity()});
    for (const PosePair &pair : associate(ticks, truth))
        trajectory.push_back({pair.timestamp_ns, pair.truth});
    return trajectory;
}

RunErrors errors_of(const Run &run, const Trajectory &truth) {
    RunErrors errors;
    std::vector<ReadyPose> ready;
    std::vector<std::int64_t> ticks_ns;
    for (const FrameRecord &frame : run.frames) {
        ticks_ns.push_back(frame.tick_ns);
        errors.lost += !frame.dropped && frame.tracking == Tracking::lost;
        if (!frame.dropped)
            ready.push_back({frame.tick_ns, frame.ready_ns, frame.world_from_body});
    }
    errors.processed_share =
        static_cast<double>(ready.size()) / static_cast<double>(run.frames.size());
    const auto pairs = associate(trajectory_of(run), truth);
    if (pairs.size() < 3)
        return errors;
    const Pose world_from_estimate = align(pairs);
    errors.evaluated = true;
    errors.absolute = statistics(absolute_errors(pairs, world_from_estimate));
    /* Before the first pose nothing is drawn: as wrong as a run may be. */
    const auto stale = staleness_errors(ready, ticks_ns, truth, world_from_estimate,
                                        display_delay_ns, required_ate_m);
    errors.stale = statistics(stale);
    errors.stale_p95_m = percentile(stale, 0.95);
    errors.failed = errors.absolute.median > required_ate_m;
    return errors;
}

} // namespace ar_hud
