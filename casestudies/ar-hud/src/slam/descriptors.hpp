/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What an image looks like around a corner, to find the corner in quite another image. */
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <opencv2/core.hpp>
#include <optional>
#include <vector>

namespace ar_hud {

/* BRIEF (Calonder et al., ECCV 2010) with ORB's pairs of pixels, upright: a head-up display's
 * camera does not lie on its side. */
using Descriptor = std::array<std::uint8_t, 32>;

/* Of each corner; nothing for those too near to the border. */
std::vector<std::optional<Descriptor>> describe(const cv::Mat &image,
                                                const std::vector<cv::Point2f> &corners);

/* Bits that differ, 0 to 256. */
int distance(const Descriptor &one, const Descriptor &other);
/* More than this is something else; two of one corner differ in some forty. */
constexpr int same_max_bits = 60;

/* Which of them is the same corner: near enough, and clearly nearer than all others (Lowe's ratio,
 * IJCV 2004). */
std::optional<std::uint32_t> best_match(const Descriptor &descriptor,
                                        const std::map<std::uint32_t, Descriptor> &among);

} // namespace ar_hud
