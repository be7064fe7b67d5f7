/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Corners in images: found, followed into another image, and checked by following them back. */
#pragma once

#include <opencv2/core.hpp>
#include <optional>
#include <vector>

namespace ar_hud {

/* An image and its halves, as cv::calcOpticalFlowPyrLK takes them. */
using Pyramid = std::vector<cv::Mat>;
Pyramid pyramid_of(const cv::Mat &image);

/*
 * Where the corners at `from` are in the other image, beginning to look at `guess`; nothing for those
 * that the way back does not bring to within half a pixel of where they were (Kalal et al., "Forward-
 * backward error", ICPR 2010), or that come too near to the border.
 */
std::vector<std::optional<cv::Point2f>> follow(const Pyramid &from, const Pyramid &to,
                                               const std::vector<cv::Point2f> &corners,
                                               const std::vector<cv::Point2f> &guess);

constexpr int corner_cell_px = 36;
/* The strongest corner in each cell of a grid that has none of `taken` (Shi and Tomasi, CVPR 1994). */
std::vector<cv::Point2f> find_corners(const cv::Mat &image, const std::vector<cv::Point2f> &taken,
                                      int cell_px = corner_cell_px);

/* Corners that an image can have: cells of the grid. */
std::size_t corners_max(const cv::Size &size);

} // namespace ar_hud
