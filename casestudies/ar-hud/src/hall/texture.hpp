/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What surfaces look like: grey pictures that repeat, in a row of sizes each half the one before. */
#pragma once

#include "../random.hpp"

#include <opencv2/core.hpp>
#include <vector>

namespace ar_hud {

class Texture {
  public:
    /* `finest` is square, with a power of two as its side. */
    explicit Texture(const cv::Mat1b &finest);

    /* Reflectance, 0 to 255, at a place of the surface in metres; `footprint_m` is how much of it
     * one ray stands for. */
    float at(double u_m, double v_m, double footprint_m) const;

  private:
    std::vector<cv::Mat1b> levels;
};

/* 1024 pixels of 5 mm: repeats after 5.12 m. */
constexpr double texel_m = 0.005;
constexpr int texture_side = 1024;

/* The share of the surfaces that has next to nothing to see. */
constexpr double plain_share = 0.45;

/* Plain ones first, in their share; then machinery in several kinds. */
std::vector<Texture> paint_textures(std::uint64_t seed);

} // namespace ar_hud
