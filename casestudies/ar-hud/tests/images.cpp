/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "camera/stereo.hpp"
#include "hall/exposure.hpp"
#include "hall/sequences.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <opencv2/core/utility.hpp>
#include <opencv2/video/tracking.hpp>

using namespace ar_hud;

namespace {

bool same(const cv::Mat &one, const cv::Mat &other) {
    return one.size() == other.size() && cv::norm(one, other, cv::NORM_INF) == 0;
}

/* The point of the hall that a pixel of the rectified left image shows. */
Eigen::Vector3d seen(const Scene &scene, const StereoRig &rig, const Pose &world_from_left,
                     const Eigen::Vector2d &pixel) {
    Eigen::Vector3d way;
    way << (pixel - rig.principal_point) / rig.focal_length, 1;
    const Ray ray{world_from_left.translation(), (world_from_left.linear() * way).normalized()};
    Hit hit{std::numeric_limits<double>::infinity(), {}, 0, 0, 0};
    for (const Solid &solid : scene.solids)
        solid.meets(ray, hit);
    return ray.origin + hit.distance_m * ray.direction;
}

} // namespace

TEST_CASE("a picture is the same on one processor and on several, and another with another seed") {
    const SequenceKind &kind = sequence_kind("MH03");
    const Flight flight(kind.flight, 1);
    const Scene scene = Scene::furnish(1);
    const Imager imager(hall_camera_left());
    const int processors = cv::getNumThreads();
    const cv::Mat one = imager.take(scene, flight, kind.conditions, 3, 9);
    cv::setNumThreads(1);
    CHECK(same(one, imager.take(scene, flight, kind.conditions, 3, 9)));
    CHECK_FALSE(same(one, imager.take(scene, flight, kind.conditions, 3, 10)));
    CHECK_FALSE(same(one, imager.take(Scene::furnish(2), flight, kind.conditions, 3, 9)));
    cv::setNumThreads(processors);
}

TEST_CASE("pictures agree with the geometry that they claim") {
    /* Points of the hall, by calculation, against where optical flow finds them: in the other
     * camera, and a moment later. */
    const SequenceKind &kind = sequence_kind("MH01");
    const Flight flight(kind.flight, 3);
    const Scene scene = Scene::furnish(3);
    const Camera left = hall_camera_left(), right = hall_camera_right();
    const StereoRig rig(left, right);
    const Imager left_imager(left), right_imager(right);
    constexpr double first_s = 20, later_s = 20.1;
    const auto images_at = [&](double time_s) {
        return StereoImages{
            rig.rectify_left(left_imager.take(scene, flight, kind.conditions, time_s, 1)),
            rig.rectify_right(right_imager.take(scene, flight, kind.conditions, time_s, 2))};
    };
    const StereoImages first = images_at(first_s), later = images_at(later_s);
    const Pose world_from_left = flight.world_from_body(first_s) * rig.body_from_left;
    const Pose left_later_from_world =
        (flight.world_from_body(later_s) * rig.body_from_left).inverse();

    std::vector<cv::Point2f> corners, expected_right, expected_later;
    cv::goodFeaturesToTrack(first.left, corners, 150, 0.05, 15);
    REQUIRE(corners.size() > 60);
    for (const cv::Point2f &corner : corners) {
        const Eigen::Vector3d point = seen(scene, rig, world_from_left, {corner.x, corner.y});
        Eigen::Vector3d in_right = world_from_left.inverse() * point;
        in_right.x() -= rig.baseline_m;
        const Eigen::Vector2d right_at = rig.project(in_right);
        const Eigen::Vector2d later_at = rig.project(left_later_from_world * point);
        expected_right.emplace_back(float(right_at.x()), float(right_at.y()));
        expected_later.emplace_back(float(later_at.x()), float(later_at.y()));
    }
    const auto median_miss = [&](const cv::Mat &image, const std::vector<cv::Point2f> &expected) {
        std::vector<cv::Point2f> found = expected;
        std::vector<uchar> ok;
        std::vector<float> residual, misses;
        cv::calcOpticalFlowPyrLK(first.left, image, corners, found, ok, residual, {21, 21}, 3, {},
                                 cv::OPTFLOW_USE_INITIAL_FLOW);
        for (std::size_t n = 0; n < found.size(); n++)
            if (ok[n])
                misses.push_back(static_cast<float>(cv::norm(found[n] - expected[n])));
        REQUIRE(misses.size() > 40);
        std::nth_element(misses.begin(), misses.begin() + misses.size() / 2, misses.end());
        return misses[misses.size() / 2];
    };
    CHECK(median_miss(first.right, expected_right) < 0.3);
    CHECK(median_miss(later.left, expected_later) < 0.3);
}

TEST_CASE("what is left out of a part of a picture, or looked at later, is nothing that it shows") {
    const Scene scene = Scene::furnish(4);
    const Flight flight(sequence_kind("MH02").flight, 4);
    Random random(4, 1);
    int met = 0, left_out = 0;
    for (int n = 0; n < 200; n++) {
        const Pose world_from_camera = flight.world_from_body(random.uniform(0, 140));
        const double x = random.uniform(-0.8, 0.8), y = random.uniform(-0.5, 0.5), side = 0.05;
        const std::array<Eigen::Vector3d, 4> sides{
            {{1, 0, -x}, {-1, 0, x + side}, {0, 1, -y}, {0, -1, y + side}}};
        const Eigen::Vector3d way(x + random.uniform(0, side), y + random.uniform(0, side), 1);
        const Ray ray{world_from_camera.translation(),
                      world_from_camera.linear() * way.normalized()};
        for (const Solid &solid : scene.solids) {
            const Pose solid_from_camera = solid.solid_from_world * world_from_camera;
            Hit hit{std::numeric_limits<double>::infinity(), {}, 0, 0, 0};
            const bool meets = solid.meets(ray, hit);
            const bool reaches = solid.reaches_into(sides, solid_from_camera);
            CHECK((reaches || !meets));
            CHECK(solid.distance_m(solid_from_camera.translation()) <= hit.distance_m);
            met += meets;
            left_out += !reaches;
        }
    }
    /* Each ray meets the hall, and most solids are elsewhere. */
    CHECK(met > 200);
    CHECK(left_out > 100 * static_cast<int>(scene.solids.size()));
}

TEST_CASE("dark halls are dark, and not black") {
    const auto mean_of = [](const std::string &name) {
        const SequenceKind &kind = sequence_kind(name);
        const Flight flight(kind.flight, 1);
        return cv::mean(
            Imager(hall_camera_left()).take(Scene::furnish(1), flight, kind.conditions, 5, 1))[0];
    };
    const double bright = mean_of("MH01"), dark = mean_of("MH05");
    CHECK(bright > 60);
    CHECK(bright < 180);
    CHECK(dark > 15);
    CHECK(dark < bright / 2);
}
