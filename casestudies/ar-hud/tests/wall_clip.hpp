/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#pragma once

#include "camera/stereo.hpp"
#include "euroc/sequence.hpp"

#include <opencv2/imgproc.hpp>
#include <vector>

namespace ar_hud {

inline Pose shift(double x) {
    Pose pose = Pose::Identity();
    pose.translation().x() = x;
    return pose;
}

/*
 * A pair that flies sideways along a wall, two pixels a frame: pictures cut out of one, so that they cost
 * next to nothing also under ThreadSanitizer.
 */
struct WallClip {
    static constexpr int width = 320, height = 240, focal_px = 200, shift_px = 2;
    static constexpr double wall_m = 2, baseline_m = 0.11;

    explicit WallClip(int frames) : rig(camera(0), camera(baseline_m)) {
        const int disparity_px = static_cast<int>(focal_px * baseline_m / wall_m);
        cv::Mat dots((height + 3) / 4, (width + disparity_px + shift_px * frames + 3) / 4, CV_8U);
        cv::theRNG().state = 1;
        cv::randu(dots, 0, 255);
        cv::Mat wall;
        cv::resize(dots, wall, {}, 4, 4, cv::INTER_CUBIC);
        for (int n = 0; n < frames; n++) {
            const cv::Rect seen(shift_px * n, 0, width, height);
            images.push_back({wall(seen).clone(), wall(seen + cv::Point(disparity_px, 0)).clone()});
            ticks_ns.push_back(n * 50'000'000LL);
        }
    }

    static Camera camera(double x_m) {
        Camera one;
        one.width = width;
        one.height = height;
        one.fu = one.fv = focal_px;
        one.cu = width / 2.0;
        one.cv = height / 2.0;
        one.body_from_camera = shift(x_m);
        return one;
    }
    static Eigen::Vector3d truth(std::size_t frame) {
        return {static_cast<double>(frame) * shift_px * wall_m / focal_px, 0, 0};
    }

    StereoRig rig;
    std::vector<StereoImages> images;
    std::vector<std::int64_t> ticks_ns;
};

} // namespace ar_hud
