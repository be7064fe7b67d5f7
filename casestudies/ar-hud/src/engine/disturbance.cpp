/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "disturbance.hpp"

#include "../random.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace ar_hud {

namespace {

constexpr double frame_ms = 50;

std::int64_t nanoseconds(double milliseconds) {
    return std::llround(milliseconds * 1e6);
}

/*
 * A chain of two states (Gilbert, 1960): bursts end with probability 1/burst, and begin so often that
 * the share comes out. The first frame is never dropped.
 */
std::vector<bool> drops(const Disturbance &disturbance, std::size_t frames, Random &random) {
    const double share = std::clamp(disturbance.dropped_share, 0.0, 1.0);
    const double odds = share < 1 ? share / (1 - share) : static_cast<double>(frames);
    const double ends = 1 / std::max({disturbance.burst_frames, odds, 1.0});
    const double begins = ends * odds;
    std::vector<bool> dropped(frames, false);
    bool in_burst = false;
    for (std::size_t frame = 1; frame < frames; frame++) {
        in_burst = disturbance.burst_frames <= 1 ? random.uniform() < share
                   : in_burst                    ? random.uniform() >= ends
                                                 : random.uniform() < begins;
        dropped[frame] = in_burst;
    }
    return dropped;
}

} // namespace

Service disturbed(const Disturbance &disturbance, std::size_t frames, std::uint64_t seed) {
    Random drop_random(seed, 1), time_random(seed, 2);
    const std::vector<bool> dropped = drops(disturbance, frames, drop_random);
    const auto times = std::make_shared<std::vector<ServiceTimes>>();
    const auto taken_ms = [&](double mean_ms) {
        return mean_ms * disturbance.factor *
               std::exp(disturbance.stages.sigma * time_random.normal());
    };
    for (std::size_t frame = 0; frame < frames; frame++) {
        ServiceTimes one;
        one.dropped = dropped[frame];
        one.front_end_ns = nanoseconds(taken_ms(disturbance.stages.front_end_ms));
        one.mapping_ns = nanoseconds(taken_ms(disturbance.stages.mapping_ms) +
                                     frame_ms * disturbance.mapping_late_frames);
        one.optimisation_ns = nanoseconds(taken_ms(disturbance.stages.optimisation_ms) +
                                          frame_ms * disturbance.optimisation_late_frames);
        one.optimised = disturbance.optimised;
        times->push_back(one);
    }
    return [times](std::size_t frame) { return times->at(frame); };
}

} // namespace ar_hud
