/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "patch.hpp"

#include <array>
#include <cmath>

namespace ar_hud {

namespace {

constexpr int half_px = 5;
constexpr int side = 2 * half_px + 1, pixels = side * side;
constexpr int steps_max = 10;
constexpr float step_min_px = 0.01F;
/* Correlation of the patch with what is found; sensor noise alone takes a faint corner down to some 0.8. */
constexpr float alike_min = 0.7F;
/* A patch that is seen much larger or smaller than this is another sight. */
constexpr float larger_max = 3;

using Values = std::array<float, pixels>;

void centre(Values &values) {
    float sum = 0;
    for (float value : values)
        sum += value;
    const float mean = sum / pixels;
    for (float &value : values)
        value -= mean;
}

float product(const Values &one, const Values &other) {
    float sum = 0;
    for (int n = 0; n < pixels; n++)
        sum += one[n] * other[n];
    return sum;
}

bool has(const cv::Mat &image, float x, float y) {
    return x >= 0 && y >= 0 && x < static_cast<float>(image.cols - 1) &&
           y < static_cast<float>(image.rows - 1);
}

/* Between two pixels, by how much of the way from the first to the second. */
float between(float first, float second, float way) {
    return (1 - way) * first + way * second;
}

float sample(const cv::Mat &image, float x, float y) {
    const int column = static_cast<int>(x), row = static_cast<int>(y);
    const float right = x - static_cast<float>(column), down = y - static_cast<float>(row);
    const uchar *above = image.ptr<uchar>(row) + column;
    const uchar *below = image.ptr<uchar>(row + 1) + column;
    return between(between(above[0], above[1], right), between(below[0], below[1], right), down);
}

/* What the patch should look like in the other image, without its mean, and how that changes by a
 * pixel to the right and down. */
struct Template {
    Values grey, by_x, by_y;
    float contrast, xx, xy, yy; /* products of these */
};

/* A pixel more on each side, for the differences. */
constexpr int wide_px = half_px + 1, wide = side + 2;

std::optional<std::array<float, wide * wide>> warped(const Patch &patch, const cv::Matx22f &back) {
    const auto at = [&](int right, int down) {
        const float dx = static_cast<float>(right), dy = static_cast<float>(down);
        return cv::Point2f(patch.corner.x + back(0, 0) * dx + back(0, 1) * dy,
                           patch.corner.y + back(1, 0) * dx + back(1, 1) * dy);
    };
    /* What lies between its corners is in the image if these are: also rounded, places are in order. */
    for (const int right : {-wide_px, wide_px})
        for (const int down : {-wide_px, wide_px})
            if (const cv::Point2f corner = at(right, down); !has(patch.image, corner.x, corner.y))
                return std::nullopt;
    std::array<float, wide * wide> grey;
    for (int row = 0; row < wide; row++)
        for (int column = 0; column < wide; column++) {
            const cv::Point2f from = at(column - wide_px, row - wide_px);
            grey[row * wide + column] = sample(patch.image, from.x, from.y);
        }
    return grey;
}

std::optional<Template> template_of(const Patch &patch, const cv::Matx22f &warp) {
    const float larger = warp(0, 0) * warp(1, 1) - warp(0, 1) * warp(1, 0);
    if (!(larger > 1 / larger_max && larger < larger_max))
        return std::nullopt;
    const auto grey = warped(patch, warp.inv());
    if (!grey)
        return std::nullopt;
    Template result;
    for (int row = 0; row < side; row++)
        for (int column = 0; column < side; column++) {
            const float *at = grey->data() + (row + 1) * wide + column + 1;
            const int n = row * side + column;
            result.grey[n] = at[0];
            result.by_x[n] = (at[1] - at[-1]) / 2;
            result.by_y[n] = (at[wide] - at[-wide]) / 2;
        }
    centre(result.grey);
    centre(result.by_x);
    centre(result.by_y);
    result.contrast = product(result.grey, result.grey);
    result.xx = product(result.by_x, result.by_x);
    result.xy = product(result.by_x, result.by_y);
    result.yy = product(result.by_y, result.by_y);
    return result;
}

/* The pixel before each of the places on one axis, and how much of the way to the next one they are. */
struct Places {
    std::array<int, side> pixel;
    std::array<float, side> way;

    explicit Places(float middle) {
        for (int n = 0; n < side; n++) {
            const float place = middle + static_cast<float>(n - half_px);
            pixel[n] = static_cast<int>(place);
            way[n] = place - static_cast<float>(pixel[n]);
        }
    }
};

bool cut_out(const cv::Mat &image, const cv::Point2f &at, Values &grey) {
    if (!has(image, at.x - half_px, at.y - half_px) || !has(image, at.x + half_px, at.y + half_px))
        return false;
    const Places columns(at.x), rows(at.y);
    /* Each row of the image that is needed, between its columns; by rounding there may be one more. */
    std::array<std::array<float, side>, side + 2> lines;
    const int top = rows.pixel.front();
    for (int line = 0; top + line <= rows.pixel.back() + 1; line++) {
        const uchar *from = image.ptr<uchar>(top + line);
        for (int column = 0; column < side; column++) {
            const uchar *pixel = from + columns.pixel[column];
            lines[line][column] = between(pixel[0], pixel[1], columns.way[column]);
        }
    }
    for (int row = 0; row < side; row++) {
        const auto &above = lines[rows.pixel[row] - top], &below = lines[rows.pixel[row] - top + 1];
        for (int column = 0; column < side; column++)
            grey[row * side + column] = between(above[column], below[column], rows.way[row]);
    }
    centre(grey);
    return true;
}

} // namespace

std::optional<cv::Point2f> align(const Patch &patch, const cv::Matx22f &warp, const cv::Mat &image,
                                 const cv::Point2f &guess) {
    const auto sought = template_of(patch, warp);
    if (!sought)
        return std::nullopt;
    const float determinant = sought->xx * sought->yy - sought->xy * sought->xy;
    if (!(determinant > 0))
        return std::nullopt;
    cv::Point2f at = guess;
    Values found;
    for (int step = 0; step < steps_max; step++) {
        if (!cut_out(image, at, found))
            return std::nullopt;
        /* As bright and as rich in contrast as the patch. */
        const float contrast = product(found, found);
        if (!(contrast > 0))
            return std::nullopt;
        const float gain = std::sqrt(sought->contrast / contrast);
        float x = 0, y = 0;
        for (int n = 0; n < pixels; n++) {
            const float apart = gain * found[n] - sought->grey[n];
            x += sought->by_x[n] * apart;
            y += sought->by_y[n] * apart;
        }
        const cv::Point2f move((sought->xy * y - sought->yy * x) / determinant,
                               (sought->xy * x - sought->xx * y) / determinant);
        at += move;
        if (!(cv::norm(at - guess) < patch_search_px))
            return std::nullopt;
        if (cv::norm(move) < step_min_px)
            break;
    }
    if (!cut_out(image, at, found))
        return std::nullopt;
    const float likeness =
        product(found, sought->grey) / std::sqrt(product(found, found) * sought->contrast);
    return likeness > alike_min ? std::optional(at) : std::nullopt;
}

cv::Matx22f warp_of(const StereoRig &rig, const Patch &patch, const Eigen::Vector3d &in_world,
                    const Pose &world_from_left) {
    const double disparity =
        rig.focal_length * rig.baseline_m / (patch.world_from_left.inverse() * in_world).z();
    const Pose left_from_patch = world_from_left.inverse() * patch.world_from_left;
    const auto seen = [&](double right, double down) {
        const Eigen::Vector2d pixel(patch.corner.x + right, patch.corner.y + down);
        return rig.project(left_from_patch * rig.triangulate(pixel, disparity));
    };
    const Eigen::Vector2d by_x = (seen(half_px, 0) - seen(-half_px, 0)) / (2 * half_px);
    const Eigen::Vector2d by_y = (seen(0, half_px) - seen(0, -half_px)) / (2 * half_px);
    return {static_cast<float>(by_x.x()), static_cast<float>(by_y.x()),
            static_cast<float>(by_x.y()), static_cast<float>(by_y.y())};
}

} // namespace ar_hud
