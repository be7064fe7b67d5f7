/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "tracking.hpp"

#include "corner_strength.hpp"

#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>

namespace ar_hud {

namespace {

const cv::Size window(11, 11); /* pixels that a corner is recognised by */
constexpr int levels = 3;      /* above the image itself: motions up to 8 times as large as there */
constexpr float way_back_px = 0.5F;
constexpr int border_px = 8;
/* Of the structure tensor's smaller eigenvalue, in grey levels squared: sensor noise has less. */
constexpr float corner_strength_min = 4e-4F;

const cv::TermCriteria steps(cv::TermCriteria::COUNT | cv::TermCriteria::EPS, 20, 0.02);

bool inside(const cv::Point2f &point, const cv::Size &size) {
    return point.x >= border_px && point.y >= border_px &&
           point.x < static_cast<float>(size.width - border_px) &&
           point.y < static_cast<float>(size.height - border_px);
}

/* The first of equals; cv::minMaxLoc takes its time to begin with so few pixels. */
cv::Point strongest_in(const cv::Mat1f &strength, const cv::Rect &cell) {
    cv::Point strongest = cell.tl();
    float most = strength(strongest);
    for (int y = cell.y; y < cell.br().y; y++) {
        const float *row = strength[y];
        for (int x = cell.x; x < cell.br().x; x++)
            if (row[x] > most) {
                most = row[x];
                strongest = {x, y};
            }
    }
    return strongest;
}

} // namespace

Pyramid pyramid_of(const cv::Mat &image) {
    Pyramid pyramid;
    cv::buildOpticalFlowPyramid(image, pyramid, window, levels);
    return pyramid;
}

std::vector<std::optional<cv::Point2f>> follow(const Pyramid &from, const Pyramid &to,
                                               const std::vector<cv::Point2f> &corners,
                                               const std::vector<cv::Point2f> &guess) {
    std::vector<std::optional<cv::Point2f>> found(corners.size());
    if (corners.empty())
        return found;
    std::vector<cv::Point2f> there = guess, back = corners;
    std::vector<uchar> ok_there, ok_back;
    std::vector<float> residual;
    cv::calcOpticalFlowPyrLK(from, to, corners, there, ok_there, residual, window, levels, steps,
                             cv::OPTFLOW_USE_INITIAL_FLOW);
    /* From near the right place a way back on the image itself is enough. */
    cv::calcOpticalFlowPyrLK(to, from, there, back, ok_back, residual, window, 0, steps,
                             cv::OPTFLOW_USE_INITIAL_FLOW);
    for (std::size_t n = 0; n < corners.size(); n++)
        if (ok_there[n] && ok_back[n] && cv::norm(back[n] - corners[n]) < way_back_px &&
            inside(there[n], from[0].size()))
            found[n] = there[n];
    return found;
}

std::size_t corners_max(const cv::Size &size) {
    return static_cast<std::size_t>((size.width / corner_cell_px) * (size.height / corner_cell_px));
}

std::vector<cv::Point2f> find_corners(const cv::Mat &image, const std::vector<cv::Point2f> &taken,
                                      int cell_px) {
    cv::Mat1f strength = corner_strength(image);
    /* Half a cell around each corner that is there. */
    for (const cv::Point2f &corner : taken)
        cv::circle(strength, corner, cell_px / 2, cv::Scalar(0), cv::FILLED);
    std::vector<cv::Point2f> corners;
    for (int y = 0; y + cell_px <= image.rows; y += cell_px)
        for (int x = 0; x + cell_px <= image.cols; x += cell_px) {
            const cv::Point strongest = strongest_in(strength, {x, y, cell_px, cell_px});
            const cv::Point2f corner(strongest);
            if (strength(strongest) < corner_strength_min || !inside(corner, image.size()))
                continue;
            corners.push_back(corner);
            cv::circle(strength, corner, cell_px / 2, cv::Scalar(0), cv::FILLED);
        }
    if (!corners.empty())
        cv::cornerSubPix(image, corners, {3, 3}, {-1, -1}, steps);
    return corners;
}

} // namespace ar_hud
