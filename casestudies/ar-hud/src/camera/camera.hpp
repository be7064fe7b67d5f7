/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A pinhole camera with radial and tangential distortion, as EuRoC's are calibrated. */
#pragma once

#include "../trajectory/trajectory.hpp"

#include <Eigen/Core>
#include <opencv2/core.hpp>

namespace ar_hud {

struct Camera {
    int width = 0; /* pixels */
    int height = 0;
    double rate_hz = 0;
    /* Focal lengths and principal point, in pixels. */
    double fu = 0, fv = 0, cu = 0, cv = 0;
    /* Brown's model: two radial coefficients, two tangential ones (OpenCV: k1, k2, p1, p2). */
    double k1 = 0, k2 = 0, p1 = 0, p2 = 0;
    Pose body_from_camera = Pose::Identity();

    cv::Matx33d matrix() const;
    cv::Vec4d distortion() const;
    /* The pixel at which a point in the camera's coordinates (z forward, > 0) is seen. */
    Eigen::Vector2d project(const Eigen::Vector3d &point) const;
};

} // namespace ar_hud
