/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "evaluation/errors.hpp"

#include "random.hpp"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

using namespace ar_hud;

namespace {

Pose random_pose(Random &random, double spread) {
    Pose pose = Pose::Identity();
    pose.linear() =
        Eigen::Quaterniond(random.normal(), random.normal(), random.normal(), random.normal())
            .normalized()
            .toRotationMatrix();
    pose.translation() =
        spread * Eigen::Vector3d(random.normal(), random.normal(), random.normal());
    return pose;
}

Trajectory random_trajectory(Random &random, std::size_t poses) {
    Trajectory trajectory;
    for (std::size_t n = 0; n < poses; n++)
        trajectory.push_back({static_cast<std::int64_t>(n) * 50'000'000, random_pose(random, 3)});
    return trajectory;
}

Trajectory moved(const Pose &by, Trajectory trajectory) {
    for (StampedPose &pose : trajectory)
        pose.world_from_body = by * pose.world_from_body;
    return trajectory;
}

} // namespace

TEST_CASE("a trajectory in other coordinates has no error") {
    CHECK(rc::check([](std::uint64_t seed) {
        Random random(seed);
        const Trajectory truth = random_trajectory(random, 30);
        const auto pairs = associate(moved(random_pose(random, 20), truth), truth);
        RC_ASSERT(pairs.size() == truth.size());
        RC_ASSERT(statistics(absolute_errors(pairs, align(pairs))).max < 1e-9);
        for (const RelativeError &error : relative_errors(pairs, 3))
            RC_ASSERT(error.translation < 1e-9 && error.rotation < 1e-6);
    }));
}

TEST_CASE("no other alignment is better") {
    CHECK(rc::check([](std::uint64_t seed) {
        Random random(seed);
        const Trajectory truth = random_trajectory(random, 20);
        Trajectory estimated = moved(random_pose(random, 5), truth);
        for (StampedPose &pose : estimated)
            pose.world_from_body = pose.world_from_body * random_pose(random, 0.1);
        const auto pairs = associate(estimated, truth);
        const Pose best = align(pairs);
        const double least = statistics(absolute_errors(pairs, best)).rmse;
        for (int n = 0; n < 10; n++) {
            Pose other = best;
            other.translation() += 0.01 * Eigen::Vector3d(random.normal(), random.normal(), 1);
            other.rotate(Eigen::AngleAxisd(0.01 * random.normal(), Eigen::Vector3d::UnitY()));
            RC_ASSERT(statistics(absolute_errors(pairs, other)).rmse >= least);
        }
    }));
}

TEST_CASE("a step too far is seen once by the relative error, and ever after by the absolute one") {
    Trajectory truth, estimated;
    for (int n = 0; n < 10; n++) {
        StampedPose pose{n * 50'000'000};
        pose.world_from_body.translation() = Eigen::Vector3d(n, n % 2, n % 3);
        truth.push_back(pose);
        if (n >= 5)
            pose.world_from_body.translation() += Eigen::Vector3d(0, 0, 0.25);
        estimated.push_back(pose);
    }
    const auto pairs = associate(estimated, truth);
    const auto relative = relative_errors(pairs, 1);
    REQUIRE(relative.size() == 9);
    for (std::size_t n = 0; n < relative.size(); n++)
        CHECK(relative[n].translation == Approx(n == 4 ? 0.25 : 0).margin(1e-12));
    const auto absolute = absolute_errors(pairs, Pose::Identity());
    CHECK(absolute[4] == Approx(0).margin(1e-12));
    CHECK(absolute[9] == Approx(0.25));
}

TEST_CASE("each estimated pose has the true one nearest to it, if one is near") {
    const Trajectory truth = {{0}, {5'000'000}, {20'000'000}};
    const Trajectory estimated = {
        {2'500'000}, {2'500'001}, {14'999'999}, {30'000'000}, {30'000'001}};
    const auto pairs = associate(estimated, truth);
    REQUIRE(pairs.size() == 4);
    CHECK(pairs[2].timestamp_ns == 14'999'999);
    CHECK(pairs[3].timestamp_ns == 30'000'000);
    CHECK(associate(estimated, {}).empty());
}

TEST_CASE("statistics of few numbers") {
    CHECK(statistics({}).count == 0);
    CHECK(statistics({3, 1}).median == 2);
    const Statistics four = statistics({4, 1, 2, 9});
    CHECK(four.median == 3);
    CHECK(four.mean == 4);
    CHECK(four.max == 9);
    CHECK(four.rmse == Approx(std::sqrt(102.0 / 4)));
}
