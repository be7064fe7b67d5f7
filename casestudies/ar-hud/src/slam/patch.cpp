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

float mean_of(const Values &values) {
    float sum = 0;
    for (float value : values)
        sum += value;
    return sum / pixels;
}

void centre(Values &values) {
    const float mean = mean_of(values);
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

float sample(const cv::Mat &image, float x, float y) {
    const int column = static_cast<int>(x), row = static_cast<int>(y);
    const float right = x - static_cast<float>(column), down = y - static_cast<float>(row);
    const uchar *above = image.ptr<uchar>(row) + column;
    const uchar *below = image.ptr<uchar>(row + 1) + column;
    return (1 - down) * ((1 - right) * above[0] + right * above[1]) +
           down * ((1 - right) * below[0] + right * below[1]);
}

/* What the patch should look like in the other image, without its mean, and how that changes by a
 * pixel to the right and down. */
struct Template {
    Values grey, by_x, by_y;
};

std::optional<Template> template_of(const Patch &patch, const cv::Matx22f &warp) {
    const float larger = warp(0, 0) * warp(1, 1) - warp(0, 1) * warp(1, 0);
    if (!(larger > 1 / larger_max && larger < larger_max))
        return std::nullopt;
    const cv::Matx22f back = warp.inv();
    /* A pixel more on each side, for the differences. */
    constexpr int wide = side + 2;
    std::array<float, wide * wide> grey;
    for (int row = 0; row < wide; row++)
        for (int column = 0; column < wide; column++) {
            const float dx = static_cast<float>(column - half_px - 1);
            const float dy = static_cast<float>(row - half_px - 1);
            const float x = patch.corner.x + back(0, 0) * dx + back(0, 1) * dy;
            const float y = patch.corner.y + back(1, 0) * dx + back(1, 1) * dy;
            if (!has(patch.image, x, y))
                return std::nullopt;
            grey[row * wide + column] = sample(patch.image, x, y);
        }
    Template result;
    for (int row = 0; row < side; row++)
        for (int column = 0; column < side; column++) {
            const float *at = &grey[(row + 1) * wide + column + 1];
            const int n = row * side + column;
            result.grey[n] = at[0];
            result.by_x[n] = (at[1] - at[-1]) / 2;
            result.by_y[n] = (at[wide] - at[-wide]) / 2;
        }
    centre(result.grey);
    centre(result.by_x);
    centre(result.by_y);
    return result;
}

bool cut_out(const cv::Mat &image, const cv::Point2f &at, Values &grey) {
    if (!has(image, at.x - half_px, at.y - half_px) || !has(image, at.x + half_px, at.y + half_px))
        return false;
    for (int row = 0; row < side; row++)
        for (int column = 0; column < side; column++)
            grey[row * side + column] = sample(image, at.x + static_cast<float>(column - half_px),
                                               at.y + static_cast<float>(row - half_px));
    centre(grey);
    return true;
}

} // namespace

std::optional<cv::Point2f> align(const Patch &patch, const cv::Matx22f &warp, const cv::Mat &image,
                                 const cv::Point2f &guess) {
    const auto sought = template_of(patch, warp);
    if (!sought)
        return std::nullopt;
    const float xx = product(sought->by_x, sought->by_x);
    const float xy = product(sought->by_x, sought->by_y);
    const float yy = product(sought->by_y, sought->by_y);
    const float determinant = xx * yy - xy * xy;
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
        const float gain = std::sqrt(product(sought->grey, sought->grey) / contrast);
        for (int n = 0; n < pixels; n++)
            found[n] = gain * found[n] - sought->grey[n];
        const float x = product(sought->by_x, found), y = product(sought->by_y, found);
        const cv::Point2f move((xy * y - yy * x) / determinant, (xy * x - xx * y) / determinant);
        at += move;
        if (!(cv::norm(at - guess) < patch_search_px))
            return std::nullopt;
        if (cv::norm(move) < step_min_px)
            break;
    }
    if (!cut_out(image, at, found))
        return std::nullopt;
    const float likeness = product(found, sought->grey) /
                           std::sqrt(product(found, found) * product(sought->grey, sought->grey));
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
