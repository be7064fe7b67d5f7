/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "corner_strength.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <opencv2/core/hal/hal.hpp>
#include <opencv2/imgproc.hpp>

namespace ar_hud {

namespace {

constexpr int reach_px = 2, side_px = 2 * reach_px + 1;

/* Of a row, or of several summed up: a column each for the products xx, xy and yy of the gradient's parts. */
using Products = Eigen::ArrayX3d;
using Grey = Eigen::Map<const Eigen::ArrayXf>;

/* Mirrored at the border, whose pixel is not repeated. */
int mirrored(int at, int size) {
    return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
}

/* The first two and the last two become mirror images of what is between them. */
void mirror_ends(Eigen::Ref<Eigen::ArrayXd> row) {
    const Eigen::Index last = row.size() - 1;
    for (int n = 0; n < reach_px; n++) {
        row[n] = row[2 * reach_px - n];
        row[last - n] = row[last - 2 * reach_px + n];
    }
}

/* Over five pixels of a row, one by one: sums in another order may differ in the last bit. */
void sum_row(const Grey &by_x, const Grey &by_y, Products &wide, Products &sums) {
    const Eigen::Index width = by_x.size();
    wide.col(0).segment(reach_px, width) = (by_x * by_x).cast<double>();
    wide.col(1).segment(reach_px, width) = (by_x * by_y).cast<double>();
    wide.col(2).segment(reach_px, width) = (by_y * by_y).cast<double>();
    for (int product = 0; product < 3; product++) {
        mirror_ends(wide.col(product));
        const auto from = [&](int n) { return wide.col(product).segment(n, width); };
        sums.col(product) = from(0) + from(1) + from(2) + from(3) + from(4);
    }
}

} // namespace

cv::Mat1f corner_strength(const cv::Mat &image) {
    cv::Mat1f strength(image.size(), 0);
    /* Of so few pixels none is a corner. */
    if (std::min(image.rows, image.cols) < side_px)
        return strength;
    cv::Mat1f by_x, by_y;
    const double scale = 1.0 / (4 * side_px * 255);
    cv::Sobel(image, by_x, CV_32F, 1, 0, 3, scale);
    cv::Sobel(image, by_y, CV_32F, 0, 1, 3, scale);

    /* Of the five rows around the one that is worked on. */
    std::array<Products, side_px> rows;
    rows.fill(Products(image.cols, 3));
    Products wide(image.cols + 2 * reach_px, 3);
    const auto row = [&](int y) -> Products & {
        return rows[static_cast<std::size_t>(mirrored(y, image.rows) % side_px)];
    };
    const auto sum_up = [&](int y) {
        sum_row({by_x[y], image.cols}, {by_y[y], image.cols}, wide, row(y));
    };
    for (int y = 0; y <= reach_px; y++)
        sum_up(y);
    Products square = Products::Zero(image.cols, 3);
    for (int y = -reach_px; y < reach_px; y++)
        square += row(y);
    Eigen::ArrayX3f tensor(image.cols, 3);
    Eigen::ArrayXf apart(image.cols);
    for (int y = 0; y < image.rows; y++) {
        if (y > 0 && y + reach_px < image.rows)
            sum_up(y + reach_px);
        square += row(y + reach_px);
        tensor = square.cast<float>();
        const auto xx = tensor.col(0) * 0.5F, yy = tensor.col(2) * 0.5F;
        const auto xy = tensor.col(1);
        /* Eigen's root is not right to the last bit. */
        apart = (xx - yy) * (xx - yy) + xy * xy;
        cv::hal::sqrt32f(apart.data(), apart.data(), image.cols);
        Eigen::Map<Eigen::ArrayXf>(strength[y], image.cols) = (xx + yy) - apart;
        square -= row(y - reach_px);
    }
    return strength;
}

} // namespace ar_hud
