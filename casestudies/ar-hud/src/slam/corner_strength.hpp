/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How much of a corner each pixel is. */
#pragma once

#include <opencv2/core.hpp>

namespace ar_hud {

/*
 * The smaller eigenvalue of the gradient's structure tensor in a square of five pixels (Shi and Tomasi,
 * CVPR 1994), the grey levels of `image` counted from 0 to 1. It is cv::cornerMinEigenVal(image, strength,
 * 5, 3), to the last bit where the compiler fuses no multiplication with an addition, in less than
 * half of the time: what that writes into whole images on the way is here kept for five rows.
 */
cv::Mat1f corner_strength(const cv::Mat &image);

} // namespace ar_hud
