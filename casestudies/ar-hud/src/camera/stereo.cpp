/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "stereo.hpp"

#include <opencv2/calib3d.hpp>
#include <opencv2/core/eigen.hpp>
#include <opencv2/imgproc.hpp>

namespace ar_hud {

StereoRig::StereoRig(const Camera &left, const Camera &right) : size(left.width, left.height) {
    const Pose right_from_left = right.body_from_camera.inverse() * left.body_from_camera;
    cv::Matx33d rotation;
    cv::Vec3d translation;
    cv::eigen2cv(Eigen::Matrix3d(right_from_left.linear()), rotation);
    cv::eigen2cv(Eigen::Vector3d(right_from_left.translation()), translation);

    cv::Matx33d turn_left, turn_right;
    cv::Matx34d project_left, project_right;
    cv::Mat disparity_to_depth;
    /* alpha 0: only pixels that both raw images have. */
    cv::stereoRectify(left.matrix(), left.distortion(), right.matrix(), right.distortion(), size,
                      rotation, translation, turn_left, turn_right, project_left, project_right,
                      disparity_to_depth, cv::CALIB_ZERO_DISPARITY, 0, size);

    focal_length = project_left(0, 0);
    principal_point = {project_left(0, 2), project_left(1, 2)};
    baseline_m = -project_right(0, 3) / focal_length;
    Eigen::Matrix3d rectified_from_left;
    cv::cv2eigen(turn_left, rectified_from_left);
    body_from_left = left.body_from_camera;
    body_from_left.linear() = left.body_from_camera.linear() * rectified_from_left.transpose();

    cv::initUndistortRectifyMap(left.matrix(), left.distortion(), turn_left,
                                project_left.get_minor<3, 3>(0, 0), size, CV_16SC2, left_map,
                                left_weights);
    cv::initUndistortRectifyMap(right.matrix(), right.distortion(), turn_right,
                                project_right.get_minor<3, 3>(0, 0), size, CV_16SC2, right_map,
                                right_weights);
}

cv::Mat StereoRig::rectify_left(const cv::Mat &raw) const {
    cv::Mat rectified;
    cv::remap(raw, rectified, left_map, left_weights, cv::INTER_LINEAR);
    return rectified;
}

cv::Mat StereoRig::rectify_right(const cv::Mat &raw) const {
    cv::Mat rectified;
    cv::remap(raw, rectified, right_map, right_weights, cv::INTER_LINEAR);
    return rectified;
}

Eigen::Vector2d StereoRig::project(const Eigen::Vector3d &point_in_left) const {
    return focal_length * point_in_left.head<2>() / point_in_left.z() + principal_point;
}

bool StereoRig::sees(const Eigen::Vector3d &point_in_left) const {
    if (point_in_left.z() <= 0)
        return false;
    const Eigen::Vector2d pixel = project(point_in_left);
    return pixel.x() >= 0 && pixel.y() >= 0 && pixel.x() < size.width && pixel.y() < size.height;
}

Eigen::Vector3d StereoRig::triangulate(const Eigen::Vector2d &pixel, double disparity) const {
    const double depth = focal_length * baseline_m / disparity;
    Eigen::Vector3d ray;
    ray << (pixel - principal_point) / focal_length, 1;
    return depth * ray;
}

} // namespace ar_hud
