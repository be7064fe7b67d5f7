/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "texture.hpp"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace ar_hud {

Texture::Texture(const cv::Mat1b &finest) {
    levels.push_back(finest);
    while (levels.back().cols > 1) {
        cv::Mat1b half;
        cv::resize(levels.back(), half, {}, 0.5, 0.5, cv::INTER_AREA);
        levels.push_back(half);
    }
}

float Texture::at(double u_m, double v_m, double footprint_m) const {
    const double wanted = std::log2(std::max(footprint_m / texel_m, 1.0));
    const std::size_t level = std::min(static_cast<std::size_t>(wanted + 0.5), levels.size() - 1);
    const cv::Mat1b &picture = levels[level];
    const int mask = picture.cols - 1;
    const double scale = 1 / (texel_m * static_cast<double>(1 << level));
    const double u = u_m * scale - 0.5, v = v_m * scale - 0.5;
    const double u_floor = std::floor(u), v_floor = std::floor(v);
    const float du = static_cast<float>(u - u_floor), dv = static_cast<float>(v - v_floor);
    const int column = static_cast<int>(u_floor) & mask, row = static_cast<int>(v_floor) & mask;
    const uchar *top = picture.ptr<uchar>(row);
    const uchar *bottom = picture.ptr<uchar>((row + 1) & mask);
    const int right = (column + 1) & mask;
    return (1 - dv) * ((1 - du) * top[column] + du * top[right]) +
           dv * ((1 - du) * bottom[column] + du * bottom[right]);
}

namespace {

constexpr int kinds = 20;

/* Clouds: random numbers on ever finer grids, each half as strong; -1 to 1 or so, without seams. */
cv::Mat1f clouds(Random &random, int coarsest, int octaves) {
    cv::Mat1f sum(texture_side, texture_side, 0.0F);
    float strength = 0.5F;
    for (int octave = 0; octave < octaves; octave++, strength /= 2) {
        const int side = coarsest << octave;
        cv::Mat1f grid(side, side), around, smooth;
        for (float &value : grid)
            value = static_cast<float>(random.uniform(-1, 1)) * strength;
        /* Some cells of the other side around, so that the cut of the middle repeats. */
        constexpr int cells = 2;
        cv::copyMakeBorder(grid, around, cells, cells, cells, cells, cv::BORDER_WRAP);
        const double factor = static_cast<double>(texture_side) / side;
        cv::resize(around, smooth, {}, factor, factor, cv::INTER_CUBIC);
        const int border = cells * texture_side / side;
        sum += smooth(cv::Rect(border, border, texture_side, texture_side));
    }
    return sum;
}

cv::Mat1b toned(const cv::Mat1f &pattern, double middle, double contrast) {
    cv::Mat1b picture;
    pattern.convertTo(picture, CV_8U, contrast, middle);
    return picture;
}

cv::Rect random_patch(Random &random, int side_min, int side_max) {
    const int width = side_min + random.below(side_max - side_min);
    const int height = side_min + random.below(side_max - side_min);
    return {random.below(texture_side - width), random.below(texture_side - height), width, height};
}

/* Painted plates with bolts in their corners. */
void panels(cv::Mat1b &picture, Random &random) {
    const int side = 64 << random.below(3);
    for (int y = 0; y < texture_side; y += side)
        for (int x = 0; x < texture_side; x += side) {
            const cv::Rect plate(x + 2, y + 2, side - 4, side - 4);
            picture(plate) += random.uniform(-30, 30);
            cv::rectangle(picture, {x, y, side, side}, cv::Scalar(random.uniform(20, 60)), 2);
            for (int bolt = 0; bolt < 4; bolt++)
                cv::circle(picture,
                           {x + (bolt % 2 ? 10 : side - 10), y + (bolt / 2 ? 10 : side - 10)}, 3,
                           cv::Scalar(random.uniform(150, 230)), cv::FILLED);
        }
}

/* Hatches, gauges, labels. */
void fittings(cv::Mat1b &picture, Random &random) {
    for (int n = 0; n < 60; n++) {
        const cv::Rect patch = random_patch(random, 12, 140);
        const cv::Scalar shade(random.uniform(25, 230));
        if (n % 4 == 0)
            cv::circle(picture, (patch.tl() + patch.br()) / 2, patch.width / 3, shade, 4);
        else
            cv::rectangle(picture, patch, shade, n % 3 ? cv::FILLED : 3);
    }
}

/* Gratings and slits. */
void slits(cv::Mat1b &picture, Random &random) {
    const int step = 16 + random.below(40);
    for (int y = 0; y < texture_side; y += step)
        for (int x = 0; x < texture_side; x += 128) {
            const int begin = x + random.below(20), end = x + 128 - random.below(40);
            cv::line(picture, {begin, y}, {end, y}, cv::Scalar(random.uniform(20, 90)),
                     2 + random.below(4));
        }
}

/* Courses of bricks. */
void bricks(cv::Mat1b &picture, Random &random) {
    constexpr int height = 32, width = 64;
    for (int row = 0; row * height < texture_side; row++)
        for (int x = row % 2 ? -width / 2 : 0; x < texture_side; x += width) {
            const cv::Rect brick(x + 1, row * height + 1, width - 3, height - 3);
            picture(brick & cv::Rect(0, 0, texture_side, texture_side)) += random.uniform(-35, 35);
        }
}

Texture paint(int kind, Random &random) {
    const bool plain = kind < kinds * plain_share;
    const double middle = random.uniform(90, 170);
    cv::Mat1b picture = toned(clouds(random, 4, plain ? 5 : 7), middle, plain ? 8 : 35);
    if (plain)
        return Texture(picture);
    using Painter = void (*)(cv::Mat1b &, Random &);
    constexpr Painter painters[] = {panels, fittings, slits, bricks};
    painters[kind % 4](picture, random);
    if (kind % 3 == 0)
        fittings(picture, random);
    return Texture(picture);
}

} // namespace

std::vector<Texture> paint_textures(std::uint64_t seed) {
    std::vector<Texture> textures;
    for (int kind = 0; kind < kinds; kind++) {
        Random random(seed, 100 + static_cast<std::uint64_t>(kind));
        textures.push_back(paint(kind, random));
    }
    return textures;
}

} // namespace ar_hud
