/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Two cameras made into an ideal pair: no distortion, rows that match. */
#pragma once

#include "camera.hpp"

namespace ar_hud {

struct StereoImages {
    cv::Mat left; /* 8 bit grey */
    cv::Mat right;
};

class StereoRig {
  public:
    /* None yet: for one that is read from a file. */
    StereoRig() = default;
    StereoRig(const Camera &left, const Camera &right);

    cv::Mat rectify_left(const cv::Mat &raw) const;
    cv::Mat rectify_right(const cv::Mat &raw) const;

    /* Of both rectified images, in pixels. */
    double focal_length = 0;
    Eigen::Vector2d principal_point = Eigen::Vector2d::Zero();
    double baseline_m = 0;
    Pose body_from_left = Pose::Identity(); /* the rectified left camera */
    cv::Size size;

    Eigen::Vector2d project(const Eigen::Vector3d &point_in_left) const;
    /* Whether it is before the camera and in the image. */
    bool sees(const Eigen::Vector3d &point_in_left) const;
    /* The point at a pixel of the left image whose match is `disparity` pixels further left. */
    Eigen::Vector3d triangulate(const Eigen::Vector2d &pixel, double disparity) const;

    /* For recording/stage_file.cpp. */
    template <typename Archive> void serialize(Archive &archive) {
        archive(focal_length, principal_point, baseline_m, body_from_left, size, left_map,
                left_weights, right_map, right_weights);
    }

  private:
    /* Where each rectified pixel is in the raw image: fixed-point maps of cv::remap. */
    cv::Mat left_map, left_weights, right_map, right_weights;
};

} // namespace ar_hud
