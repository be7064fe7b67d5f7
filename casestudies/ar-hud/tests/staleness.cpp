/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "evaluation/staleness.hpp"

#include <catch2/catch.hpp>

using namespace ar_hud;

namespace {

constexpr std::int64_t tick_ns = 50'000'000;

Pose at(double x) {
    Pose pose = Pose::Identity();
    pose.translation().x() = x;
    return pose;
}

/* One metre a tick. */
Trajectory truth_of(int ticks) {
    Trajectory truth;
    for (int n = 0; n < ticks; n++)
        truth.push_back({n * tick_ns, at(n)});
    return truth;
}

std::vector<std::int64_t> ticks_of(int ticks) {
    std::vector<std::int64_t> times;
    for (int n = 0; n < ticks; n++)
        times.push_back(n * tick_ns);
    return times;
}

} // namespace

TEST_CASE("a pose is held until the next one is ready") {
    /* Frame 1 was dropped, and frame 3's pose comes two ticks late. */
    const std::vector<ReadyPose> poses = {
        {0, 10'000'000, at(0)},
        {2 * tick_ns, 2 * tick_ns + 10'000'000, at(2)},
        {4 * tick_ns, 4 * tick_ns + 10'000'000, at(4)},
        {3 * tick_ns, 5 * tick_ns + 10'000'000, at(3)},
    };
    const auto errors =
        staleness_errors(poses, ticks_of(6), truth_of(6), Pose::Identity(), tick_ns / 2, 99);
    CHECK(errors == std::vector<double>{0, 1, 0, 1, 0, 1});
    const auto at_once = staleness_errors(poses, ticks_of(6), truth_of(6), Pose::Identity(), 0, 99);
    CHECK(at_once == std::vector<double>{99, 1, 2, 1, 2, 1});
}

TEST_CASE("ticks without a true pose do not count") {
    const auto errors =
        staleness_errors({{0, 0, at(0)}}, ticks_of(6), truth_of(3), Pose::Identity(), 0, 99);
    CHECK(errors == std::vector<double>{0, 1, 2});
}

TEST_CASE("a pose that is ready with the next frame is not shown for this one") {
    std::vector<ReadyPose> poses;
    for (int n = 0; n < 3; n++)
        poses.push_back({n * tick_ns, n * tick_ns, at(n)});
    const auto errors =
        staleness_errors(poses, ticks_of(3), truth_of(3), Pose::Identity(), tick_ns, 99);
    CHECK(errors == std::vector<double>{0, 0, 0});
}
