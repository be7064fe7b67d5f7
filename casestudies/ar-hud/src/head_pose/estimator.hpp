/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Where a driver looks: HopeNet's three angles from a picture of a face, by a network in ONNX. */
#pragma once

#include <filesystem>
#include <opencv2/dnn.hpp>

namespace ar_hud {

struct HeadPose {
    double yaw_deg = 0;
    double pitch_deg = 0;
    double roll_deg = 0;
};

/* The angle that 66 classes stand for: the mean of their middles, -99 to 96 degrees in steps of 3, by
 * their probabilities (Ruiz et al., CVPRW 2018, section 3). */
double angle_deg(const cv::Mat1f &scores);

class HeadPoseEstimator {
  public:
    /* A network with the input `image` (1 x 3 x 224 x 224) and the outputs `yaw`, `pitch` and
     * `roll` (1 x 66 each). Throws InputError if the file is none. */
    explicit HeadPoseEstimator(const std::filesystem::path &model);

    /* `face` has three channels of 8 bits, in any size. */
    HeadPose estimate(const cv::Mat &face);

  private:
    cv::dnn::Net network;
};

} // namespace ar_hud
