/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A corner as it looked once, and where exactly it is in an image that was taken from elsewhere. */
#pragma once

#include "../camera/stereo.hpp"

#include <opencv2/core.hpp>
#include <optional>

namespace ar_hud {

struct Patch {
    cv::Mat image; /* 8 bit grey */
    cv::Point2f corner;
    Pose world_from_left = Pose::Identity(); /* of the camera that took it */
};

/*
 * Where the corner is in another image, to a fraction of a pixel, by the inverse compositional
 * algorithm (Baker and Matthews, IJCV 2004). `warp` is what an offset in the patch's image is in the
 * other one; light may have changed by a factor and an offset. Nothing if the corner is not within
 * patch_search_px of `guess`, or does not look alike there.
 */
std::optional<cv::Point2f> align(const Patch &patch, const cv::Matx22f &warp, const cv::Mat &image,
                                 const cv::Point2f &guess);

constexpr float patch_search_px = 4;

/* The linear part of how the surroundings of a patch look from another camera, if they face the one that
 * took it; `in_world` is where the corner is, which may be very far. */
cv::Matx22f warp_of(const StereoRig &rig, const Patch &patch, const Eigen::Vector3d &in_world,
                    const Pose &world_from_left);

} // namespace ar_hud
