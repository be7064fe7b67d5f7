/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "camera.hpp"

namespace ar_hud {

cv::Matx33d Camera::matrix() const {
    return {fu, 0, cu, 0, fv, cv, 0, 0, 1};
}

cv::Vec4d Camera::distortion() const {
    return {k1, k2, p1, p2};
}

Eigen::Vector2d Camera::project(const Eigen::Vector3d &point) const {
    const double x = point.x() / point.z();
    const double y = point.y() / point.z();
    const double r2 = x * x + y * y;
    const double radial = 1 + (k1 + k2 * r2) * r2;
    return {fu * (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)) + cu,
            fv * (y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y) + cv};
}

} // namespace ar_hud
