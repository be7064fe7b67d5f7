/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "camera/camera.hpp"

#include "hall/sequences.hpp"

#include <catch2/catch.hpp>
#include <opencv2/calib3d.hpp>

using namespace ar_hud;

TEST_CASE("a camera projects as OpenCV does") {
    const Camera camera = hall_camera_left();
    for (double x = -0.7; x <= 0.7; x += 0.1)
        for (double y = -0.5; y <= 0.5; y += 0.1) {
            const Eigen::Vector3d point(3 * x, 3 * y, 3);
            std::vector<cv::Point2d> theirs;
            cv::projectPoints(std::vector<cv::Point3d>{{point.x(), point.y(), point.z()}},
                              cv::Vec3d(), cv::Vec3d(), camera.matrix(), camera.distortion(),
                              theirs);
            const Eigen::Vector2d ours = camera.project(point);
            CHECK(ours.x() == Approx(theirs[0].x));
            CHECK(ours.y() == Approx(theirs[0].y));
        }
}
