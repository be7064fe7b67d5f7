/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "camera/stereo.hpp"

#include "hall/sequences.hpp"

#include <catch2/catch.hpp>
#include <opencv2/imgproc.hpp>

using namespace ar_hud;

namespace {

/* The right camera turned by some degrees: what rectification is there for. */
Camera turned_right() {
    Camera right = hall_camera_right();
    right.body_from_camera.linear() *= (Eigen::AngleAxisd(0.02, Eigen::Vector3d::UnitY()) *
                                        Eigen::AngleAxisd(-0.01, Eigen::Vector3d::UnitX()))
                                           .toRotationMatrix();
    return right;
}

/* A picture, black but for a blurred dot. */
cv::Mat dot(const Camera &camera, const Eigen::Vector3d &point_in_body) {
    const Eigen::Vector2d at = camera.project(camera.body_from_camera.inverse() * point_in_body);
    cv::Mat1f picture(camera.height, camera.width);
    for (int y = 0; y < picture.rows; y++)
        for (int x = 0; x < picture.cols; x++)
            picture(y, x) =
                static_cast<float>(250 * std::exp(-(Eigen::Vector2d(x, y) - at).squaredNorm() / 8));
    cv::Mat grey;
    picture.convertTo(grey, CV_8U);
    return grey;
}

Eigen::Vector2d middle_of_light(const cv::Mat &picture) {
    const cv::Moments moments = cv::moments(picture);
    return {moments.m10 / moments.m00, moments.m01 / moments.m00};
}

} // namespace

TEST_CASE("a rectified pair sees a point in one row, and finds it again") {
    const Camera left = hall_camera_left(), right = turned_right();
    const StereoRig rig(left, right);
    for (const Eigen::Vector3d &point :
         {Eigen::Vector3d(0.2, 0.1, 4), Eigen::Vector3d(-1, 1, 5), Eigen::Vector3d(0.6, -1.2, 3)}) {
        const StereoImages images{rig.rectify_left(dot(left, point)),
                                  rig.rectify_right(dot(right, point))};
        const Eigen::Vector2d in_left = middle_of_light(images.left);
        const Eigen::Vector2d in_right = middle_of_light(images.right);
        CHECK(in_left.y() == Approx(in_right.y()).margin(0.15));

        const Eigen::Vector3d in_rectified = rig.body_from_left.inverse() * point;
        CHECK((rig.project(in_rectified) - in_left).norm() < 0.15);
        const Eigen::Vector3d found = rig.triangulate(in_left, in_left.x() - in_right.x());
        /* A tenth of a pixel of some fifteen. */
        CHECK((found - in_rectified).norm() < 0.02 * point.norm());
    }
    CHECK(rig.baseline_m == Approx(0.11).epsilon(1e-6));
}
