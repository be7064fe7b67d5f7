/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The parts of SLAM, on scenes of points without images, and on images of clouds. */
#include "hall/sequences.hpp"
#include "random.hpp"
#include "slam/corner_strength.hpp"
#include "slam/descriptors.hpp"
#include "slam/mapping.hpp"
#include "slam/optimisation.hpp"
#include "slam/patch.hpp"
#include "slam/pose.hpp"
#include "slam/tracking.hpp"

#include <catch2/catch.hpp>
#include <opencv2/imgproc.hpp>
#include <rapidcheck.h>

using namespace ar_hud;

namespace {

const StereoRig &rig() {
    static const StereoRig one(hall_camera_left(), hall_camera_right());
    return one;
}

Eigen::Vector3d random_vector(Random &random, double spread) {
    return spread * Eigen::Vector3d(random.normal(), random.normal(), random.normal());
}

Pose small_pose(Random &random, double radians, double metres) {
    Pose pose = Pose::Identity();
    pose.rotate(Eigen::AngleAxisd(radians, random_vector(random, 1).normalized()));
    pose.translation() = random_vector(random, metres);
    return pose;
}

/* A point that a camera at the origin sees. */
Eigen::Vector3d visible_point(Random &random) {
    const Eigen::Vector2d pixel(random.uniform(60, 690), random.uniform(60, 420));
    return rig().triangulate(pixel, random.uniform(4, 25));
}

cv::Mat clouds(std::uint64_t seed) {
    cv::RNG generator(seed);
    cv::Mat picture(480, 752, CV_8U), smooth;
    generator.fill(picture, cv::RNG::UNIFORM, 0, 255);
    cv::GaussianBlur(picture, smooth, {0, 0}, 3);
    cv::normalize(smooth, smooth, 20, 230, cv::NORM_MINMAX);
    return smooth;
}

} // namespace

TEST_CASE("a camera is located among wrong sightings, and where it cannot be nothing is said") {
    CHECK(rc::check([](std::uint64_t seed) {
        Random random(seed);
        const Pose world_from_left = small_pose(random, random.uniform(0, 3), 5);
        std::vector<Sighting> sightings;
        for (int n = 0; n < 60; n++) {
            const Eigen::Vector3d point = visible_point(random);
            Eigen::Vector2d pixel =
                rig().project(point) + 0.2 * Eigen::Vector2d(random.normal(), random.normal());
            if (n % 3 == 0)
                pixel = {random.uniform(0, 752), random.uniform(0, 480)};
            sightings.push_back({world_from_left * point, pixel});
        }
        const auto camera = locate(rig(), sightings);
        RC_ASSERT(camera.has_value());
        const Pose error = world_from_left.inverse() * camera->world_from_left;
        RC_ASSERT(error.translation().norm() < 0.05);
        RC_ASSERT(Eigen::AngleAxisd(error.linear()).angle() < 0.01);
        RC_ASSERT(camera->inliers >= 38u && camera->inliers <= 44u);
        /* The same once more, and from nearby. */
        RC_ASSERT(locate(rig(), sightings)->world_from_left.matrix() ==
                  camera->world_from_left.matrix());
        for (Sighting &sighting : sightings)
            sighting.pixel = {random.uniform(0, 752), random.uniform(0, 480)};
        RC_ASSERT(!locate(rig(), sightings).has_value());
    }));
    CHECK_FALSE(locate(rig(), {}).has_value());
}

TEST_CASE("corners are followed to a fraction of a pixel, and most given up in another picture") {
    const cv::Mat first = clouds(1);
    cv::Mat second;
    const cv::Point2f shift(7.3F, -4.6F);
    cv::warpAffine(first, second, cv::Matx23f(1, 0, shift.x, 0, 1, shift.y), first.size(),
                   cv::INTER_CUBIC);
    const auto corners = find_corners(first, {});
    REQUIRE(corners.size() > 150);
    const auto found = follow(pyramid_of(first), pyramid_of(second), corners, corners);
    std::size_t kept = 0;
    for (std::size_t n = 0; n < corners.size(); n++)
        if (found[n]) {
            kept++;
            CHECK(cv::norm(*found[n] - corners[n] - shift) < 0.15);
        }
    CHECK(kept > corners.size() * 8 / 10);

    const auto elsewhere = follow(pyramid_of(first), pyramid_of(clouds(2)), corners, corners);
    CHECK(std::count_if(elsewhere.begin(), elsewhere.end(), [](const auto &one) { return one; }) <
          static_cast<std::ptrdiff_t>(corners.size() / 2));
}

TEST_CASE("pixels are as much of a corner as OpenCV says, also at the border") {
#ifdef __FP_FAST_FMAF
    constexpr double apart_max = 1e-6;
#else
    constexpr double apart_max = 0;
#endif
    CHECK(rc::check([&](std::uint64_t seed) {
        Random random(seed);
        const cv::Size size(static_cast<int>(random.uniform(5, 90)),
                            static_cast<int>(random.uniform(5, 40)));
        cv::Mat picture(size, CV_8U);
        cv::RNG(seed).fill(picture, cv::RNG::NORMAL, 100, random.uniform(0, 80));
        cv::Mat1f expected;
        cv::cornerMinEigenVal(picture, expected, 5, 3);
        RC_ASSERT(cv::norm(corner_strength(picture), expected, cv::NORM_INF) <= apart_max);
    }));
    const cv::Mat picture = clouds(5);
    cv::Mat1f expected;
    cv::cornerMinEigenVal(picture, expected, 5, 3);
    CHECK(cv::norm(corner_strength(picture), expected, cv::NORM_INF) <= apart_max);
    CHECK(cv::countNonZero(corner_strength(picture(cv::Rect(0, 0, 752, 4)))) == 0);
}

TEST_CASE("new corners keep away from those that are there, and none are in noise") {
    const cv::Mat picture = clouds(3);
    const auto corners = find_corners(picture, {});
    CHECK(corners.size() <= corners_max(picture.size()));
    for (const cv::Point2f &corner : find_corners(picture, corners))
        for (const cv::Point2f &other : corners)
            CHECK(cv::norm(corner - other) > 10);
    cv::Mat noise(480, 752, CV_8U);
    cv::RNG(4).fill(noise, cv::RNG::NORMAL, 100, 3);
    CHECK(find_corners(noise, {}).size() < 10);
}

TEST_CASE("a patch is found to a fraction of a pixel, turned, nearer and in other light") {
    const cv::Mat first = clouds(9);
    const float cosine = 1.1F * std::cos(0.2F), sine = 1.1F * std::sin(0.2F);
    const cv::Matx22f warp(cosine, -sine, sine, cosine);
    const cv::Matx23f transform(cosine, -sine, 12.4F, sine, cosine, -30.7F);
    cv::Mat second, noise(first.size(), CV_16S);
    cv::warpAffine(first, second, transform, first.size(), cv::INTER_CUBIC);
    second.convertTo(second, CV_8U, 0.8, 15);
    cv::RNG(10).fill(noise, cv::RNG::NORMAL, 0, 3);
    cv::add(second, noise, second, cv::noArray(), CV_8U);
    std::size_t in_sight = 0, found = 0, elsewhere = 0;
    for (const cv::Point2f &corner : find_corners(first, {})) {
        const cv::Vec2f moved = transform * cv::Vec3f(corner.x, corner.y, 1);
        const cv::Point2f there(moved[0], moved[1]);
        if (!cv::Rect(20, 20, 712, 440).contains(there))
            continue;
        in_sight++;
        elsewhere += align({first, corner}, warp, clouds(11), there).has_value();
        if (const auto at =
                align({first, corner}, warp, second, there + cv::Point2f(1.2F, -0.9F))) {
            found++;
            CHECK(cv::norm(*at - there) < 0.3);
        }
    }
    REQUIRE(in_sight > 100);
    CHECK(found > in_sight * 9 / 10);
    CHECK(elsewhere < in_sight / 10);
}

TEST_CASE("the warp of a patch is that of a plane that faces the camera") {
    CHECK(rc::check([](std::uint64_t seed) {
        Random random(seed);
        const Eigen::Vector3d point = visible_point(random);
        const Eigen::Vector2d pixel = rig().project(point);
        const cv::Point2f corner(static_cast<float>(pixel.x()), static_cast<float>(pixel.y()));
        Pose other = small_pose(random, 0.1, 0);
        other.translation() = point / 3; /* straight towards it: half as much again */
        const cv::Matx22f warp = warp_of(rig(), {{}, corner, Pose::Identity()}, point, other);
        const double larger = warp(0, 0) * warp(1, 1) - warp(0, 1) * warp(1, 0);
        RC_ASSERT(larger > 1.5 && larger < 3.5);
        const cv::Matx22f same =
            warp_of(rig(), {{}, corner, Pose::Identity()}, point, Pose::Identity());
        RC_ASSERT(cv::norm(same - cv::Matx22f::eye()) < 1e-3);
    }));
}

TEST_CASE("a corner is known again in a shifted, noisy picture") {
    const cv::Mat first = clouds(5);
    cv::Mat second, noise(first.size(), CV_16S);
    cv::warpAffine(first, second, cv::Matx23f(1, 0, 20, 0, 1, 10), first.size());
    cv::RNG(6).fill(noise, cv::RNG::NORMAL, 0, 3);
    cv::add(second, noise, second, cv::noArray(), CV_8U);
    const auto corners = find_corners(first, {});
    std::vector<cv::Point2f> moved;
    for (const cv::Point2f &corner : corners)
        moved.push_back(corner + cv::Point2f(20, 10));
    const auto described = describe(first, corners), again = describe(second, moved);
    std::map<std::uint32_t, Descriptor> known;
    for (std::size_t n = 0; n < corners.size(); n++)
        if (described[n])
            known[static_cast<std::uint32_t>(n)] = *described[n];
    std::size_t right = 0, wrong = 0;
    for (std::size_t n = 0; n < corners.size(); n++)
        if (const auto match = again[n] ? best_match(*again[n], known) : std::nullopt)
            ++(*match == n ? right : wrong);
    CHECK(right > known.size() * 7 / 10);
    CHECK(wrong == 0);
}

namespace {

/* Keyframes a step apart that see the same points, the right image too: poses and points as they are
 * thought to be, wrong by `error` but for the first keyframe. */
struct Thought {
    Map map;
    std::vector<Pose> poses;
    std::vector<Eigen::Vector3d> points;
};

Thought thought(Random &random, double error, double noise_px) {
    constexpr int keyframes = 6;
    Thought one;
    for (int n = 0; n < 150; n++)
        one.points.push_back(visible_point(random));
    MappingResult mapped;
    for (int k = 0; k < keyframes; k++) {
        Pose pose = Pose::Identity();
        pose.translation() = Eigen::Vector3d(0.15 * k, 0.02 * k, 0.1 * k);
        one.poses.push_back(pose);
        Keyframe keyframe;
        keyframe.id = static_cast<KeyframeId>(k);
        keyframe.world_from_left = k ? pose * small_pose(random, error / 4, error) : pose;
        for (std::size_t n = 0; n < one.points.size(); n++) {
            const Eigen::Vector3d there = pose.inverse() * one.points[n];
            Observation seen{static_cast<LandmarkId>(n), rig().project(there), {}};
            seen.left += noise_px * Eigen::Vector2d(random.normal(), random.normal());
            seen.right_u = rig().project(there).x() -
                           rig().focal_length * rig().baseline_m / there.z() +
                           noise_px * random.normal();
            keyframe.observations.push_back(seen);
        }
        one.map.add(keyframe);
    }
    for (std::size_t n = 0; n < one.points.size(); n++)
        mapped.landmarks[static_cast<LandmarkId>(n)] = {0, one.points[n] *
                                                               (1 + error * random.normal())};
    one.map.apply(mapped);
    return one;
}

} // namespace

TEST_CASE("optimisation puts keyframes and landmarks where they are") {
    CHECK(rc::check([](std::uint64_t seed) {
        Random random(seed);
        Thought one = thought(random, 0.02, 0);
        const auto result = Optimisation(rig()).process(one.map);
        RC_ASSERT(result.has_value());
        one.map.apply(*result);
        for (const auto &[id, keyframe] : one.map.keyframes())
            RC_ASSERT(
                (keyframe.world_from_left.translation() - one.poses[id].translation()).norm() <
                2e-3);
        for (std::size_t n = 0; n < one.points.size(); n++)
            RC_ASSERT((*one.map.position(static_cast<LandmarkId>(n)) - one.points[n]).norm() <
                      0.01 * one.points[n].norm());
    }));
}

TEST_CASE("an observation that is wrong is taken out, and no other") {
    Random random(7);
    Thought one = thought(random, 0.005, 0.1);
    Map map;
    MappingResult mapped;
    for (auto [id, keyframe] : one.map.keyframes()) {
        if (id == 4)
            keyframe.observations[10].left.x() += 30;
        map.add(keyframe);
    }
    mapped.landmarks = one.map.landmarks();
    map.apply(mapped);
    const auto result = Optimisation(rig()).process(map);
    REQUIRE(result.has_value());
    REQUIRE(result->outliers.size() == 1);
    CHECK(result->outliers[0] == std::pair<KeyframeId, LandmarkId>(4, 10));
    map.apply(*result);
    CHECK(map.observers(10).size() == 5);
}

TEST_CASE("what was added while optimisation ran moves with the keyframe that it hangs on") {
    Random random(8);
    Thought one = thought(random, 0.02, 0);
    const auto result = Optimisation(rig()).process(one.map);
    Keyframe late;
    late.id = 6;
    late.world_from_left = one.map.keyframes().at(5).world_from_left;
    late.world_from_left.translation().x() += 0.15;
    late.observations.push_back({1000, {300, 200}, {}});
    const Pose before = one.map.keyframes().at(5).world_from_left;
    one.map.add(late);
    MappingResult mapped;
    mapped.keyframe = 6;
    mapped.landmarks[1000] = {6, {0, 0, 4}};
    one.map.apply(mapped);
    const Pose moved = one.map.apply(*result);
    const Pose after = one.map.keyframes().at(5).world_from_left;
    CHECK((moved * before).isApprox(after, 1e-9));
    CHECK(one.map.keyframes().at(6).world_from_left.isApprox(moved * late.world_from_left, 1e-9));
    CHECK(one.map.position(1000)->isApprox(moved * late.world_from_left * Eigen::Vector3d(0, 0, 4),
                                           1e-9));
}

TEST_CASE("a place that is seen again pulls back the drift that came meanwhile") {
    /* Six keyframes with the right poses, later six more at the same places that have drifted, and
     * that see new landmarks and, by other names, the old ones. */
    CHECK(rc::check([](std::uint64_t seed) {
        Random random(seed);
        Thought one = thought(random, 0, 0.2);
        Pose drift = small_pose(random, 0.004, 0);
        drift.translation() = random_vector(random, 1).normalized() * 0.05;
        constexpr LandmarkId renamed = 1000;
        constexpr KeyframeId later = 6;
        for (KeyframeId k = 0; k < 6; k++) {
            Keyframe keyframe = one.map.keyframes().at(k);
            keyframe.id = later + k;
            keyframe.world_from_left = drift * keyframe.world_from_left;
            for (Observation &seen : keyframe.observations)
                seen.landmark += renamed;
            one.map.add(keyframe);
            MappingResult mapped;
            mapped.keyframe = keyframe.id;
            if (k == 0)
                for (const auto &[id, landmark] : one.map.landmarks())
                    mapped.landmarks[id + renamed] = {later, landmark.in_anchor};
            one.map.apply(mapped);
        }
        const auto off_m = [&](KeyframeId k) {
            return (one.map.keyframes().at(later + k).world_from_left.translation() -
                    one.poses[k].translation())
                .norm();
        };
        RC_ASSERT(off_m(5) > 0.03);
        MappingResult again;
        again.keyframe = later + 5;
        for (LandmarkId id = 0; id < 100; id++)
            again.same.emplace_back(id + renamed, id);
        one.map.apply(again);
        const auto result = Optimisation(rig()).process(one.map.sharing(6, 6));
        RC_ASSERT(result.has_value());
        one.map.apply(*result);
        for (KeyframeId k = 0; k < 6; k++)
            RC_ASSERT(off_m(k) < 0.01);
    }));
}

TEST_CASE("a landmark that turned out to be another is that one from then on") {
    Random random(12);
    Thought one = thought(random, 0, 0);
    MappingResult mapped;
    mapped.keyframe = 5;
    mapped.same = {{20, 10}};
    for (const auto &[id, keyframe] : one.map.keyframes())
        CHECK(keyframe.observations.size() == 150);
    Keyframe alone;
    alone.id = 6;
    alone.observations = {{20, {300, 200}, {}}, {30, {310, 200}, {}}};
    Keyframe late = alone;
    late.id = 7;
    one.map.add(alone);
    one.map.apply(mapped);
    one.map.add(late); /* was made before, when nobody knew */
    CHECK(one.map.known_as(20) == 10);
    CHECK(one.map.known_as(30) == 30);
    CHECK(one.map.latest(3).known_as(20) == 10);
    CHECK_FALSE(one.map.position(20));
    CHECK(one.map.observers(20).empty());
    CHECK(one.map.observers(10).size() == 8);
    CHECK(one.map.keyframes().at(6).observations[0].landmark == 10);
    CHECK(one.map.keyframes().at(7).observations[0].landmark == 10);
    /* Who saw both had the older one already. */
    CHECK(one.map.keyframes().at(3).observations.size() == 149);
}

TEST_CASE(
    "older keyframes are taken if they see the same, and no more of them than was asked for") {
    Random random(13);
    Thought one = thought(random, 0, 0);
    Keyframe newest = one.map.keyframes().at(5), away = newest;
    newest.id = 6;
    away.id = 7;
    away.world_from_left.rotate(Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitY()));
    one.map.add(newest);
    one.map.add(away);
    const auto whole =
        [](const Map &part) { /* not only there for landmarks to hang on */
                              return std::count_if(
                                  part.keyframes().begin(), part.keyframes().end(),
                                  [](const auto &one) { return !one.second.observations.empty(); });
        };
    CHECK(whole(one.map.around(rig(), 6, 2, 3)) == 5);
    CHECK(whole(one.map.around(rig(), 7, 2, 3)) == 2);
    CHECK(whole(one.map.sharing(2, 3)) == 5);
}
