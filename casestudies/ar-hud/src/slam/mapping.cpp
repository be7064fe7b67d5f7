/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "mapping.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <set>

namespace ar_hud {

namespace {

/* Rows of a rectified pair agree but for calibration and noise. */
constexpr double rows_apart_max_px = 1.5;
/* Of less disparity the depth is a guess: 0.11 m apart, that is beyond some 25 m. */
constexpr double disparity_min_px = 2;
constexpr double depth_min_m = 0.3;
/* Half of the patch that is compared along a row, and how alike it must be (correlation). */
constexpr int patch_px = 5;
constexpr double alike_min = 0.8;
/* Between rays of two keyframes: less, and their point is a guess. */
constexpr double rays_apart_min_rad = 0.02;
constexpr double ray_miss_max_px = 3;
/* Landmarks of so many earlier keyframes are looked for, this far from where they should be. */
constexpr std::size_t neighbours = 12;
constexpr double search_px = 12;

cv::Point2f as_point(const Eigen::Vector2d &vector) {
    return {static_cast<float>(vector.x()), static_cast<float>(vector.y())};
}

Eigen::Vector2d as_vector(const cv::Point2f &point) {
    return {point.x, point.y};
}

/* The disparity, in whole pixels, at which the patch around a corner is most alike in the other
 * image; nothing if nowhere alike enough. */
std::optional<int> best_disparity(const StereoImages &images, const cv::Point2f &corner,
                                  int disparity_max) {
    const int x = cvRound(corner.x), y = cvRound(corner.y), side = 2 * patch_px + 1;
    const int first = std::max(x - disparity_max, patch_px);
    if (x - patch_px < 0 || y - patch_px - 1 < 0 || x + patch_px >= images.left.cols ||
        y + patch_px + 1 >= images.left.rows || first > x)
        return std::nullopt;
    const cv::Mat patch = images.left(cv::Rect(x - patch_px, y - patch_px, side, side));
    const cv::Mat strip =
        images.right(cv::Rect(first - patch_px, y - patch_px, x - first + side, side));
    cv::Mat likeness;
    cv::matchTemplate(strip, patch, likeness, cv::TM_CCOEFF_NORMED);
    double best = 0;
    cv::Point at;
    cv::minMaxLoc(likeness, nullptr, &best, nullptr, &at);
    if (best < alike_min)
        return std::nullopt;
    return x - (first + at.x);
}

} // namespace

MappingResult Mapping::process(KeyframeId id, const StereoImages &images, const Map &map,
                               bool search) const {
    const Keyframe &keyframe = map.keyframes().at(id);
    MappingResult result;
    result.keyframe = id;
    match_stereo(keyframe, images, map, result);
    triangulate_over_time(keyframe, map, result);
    if (search)
        find_again(keyframe, images, map, result);

    std::vector<cv::Point2f> corners;
    for (const Observation &seen : keyframe.observations)
        corners.push_back(as_point(seen.left));
    const auto descriptors = describe(images.left, corners);
    for (std::size_t n = 0; n < corners.size(); n++)
        if (descriptors[n])
            result.descriptors[keyframe.observations[n].landmark] = *descriptors[n];
    return result;
}

/* Every corner is looked for in the right image: from where its landmark should be there, else from
 * the most similar place of its row. */
void Mapping::match_stereo(const Keyframe &keyframe, const StereoImages &images, const Map &map,
                           MappingResult &result) const {
    const int disparity_max = static_cast<int>(rig.focal_length * rig.baseline_m / depth_min_m);
    const Pose left_from_world = keyframe.world_from_left.inverse();
    std::vector<const Observation *> looked_for;
    std::vector<cv::Point2f> corners, guess;
    for (const Observation &seen : keyframe.observations) {
        const cv::Point2f corner = as_point(seen.left);
        std::optional<double> disparity;
        if (const auto position = map.position(seen.landmark)) {
            const double depth = (left_from_world * *position).z();
            if (depth > depth_min_m)
                disparity = rig.focal_length * rig.baseline_m / depth;
        } else if (const auto best = best_disparity(images, corner, disparity_max)) {
            disparity = *best;
        }
        if (!disparity)
            continue;
        looked_for.push_back(&seen);
        corners.push_back(corner);
        guess.push_back(corner - cv::Point2f(static_cast<float>(*disparity), 0));
    }
    const auto found = follow(pyramid_of(images.left), pyramid_of(images.right), corners, guess);
    for (std::size_t n = 0; n < found.size(); n++) {
        if (!found[n] || std::abs(found[n]->y - corners[n].y) > rows_apart_max_px)
            continue;
        const double disparity = corners[n].x - found[n]->x;
        if (disparity < disparity_min_px || disparity > disparity_max)
            continue;
        const Observation &seen = *looked_for[n];
        result.right_u.emplace_back(seen.landmark, found[n]->x);
        if (!map.landmarks().count(seen.landmark))
            result.landmarks[seen.landmark] = {keyframe.id, rig.triangulate(seen.left, disparity)};
    }
}

/* Corners too far for the pair: the point nearest to the rays from this keyframe and from the first
 * that saw it. */
void Mapping::triangulate_over_time(const Keyframe &keyframe, const Map &map,
                                    MappingResult &result) const {
    for (const Observation &seen : keyframe.observations) {
        const auto &observers = map.observers(seen.landmark);
        if (observers.empty() || observers.front() == keyframe.id ||
            map.landmarks().count(seen.landmark) || result.landmarks.count(seen.landmark))
            continue;
        const Keyframe &first = map.keyframes().at(observers.front());
        const auto first_seen =
            std::find_if(first.observations.begin(), first.observations.end(),
                         [&](const Observation &other) { return other.landmark == seen.landmark; });
        const Pose first_from_this = first.world_from_left.inverse() * keyframe.world_from_left;
        const Eigen::Vector3d ray = rig.triangulate(first_seen->left, 1).normalized();
        const Eigen::Vector3d other =
            first_from_this.linear() * rig.triangulate(seen.left, 1).normalized();
        if (std::acos(std::clamp(ray.dot(other), -1.0, 1.0)) < rays_apart_min_rad)
            continue;
        Eigen::Matrix<double, 3, 2> rays;
        rays << ray, -other;
        const Eigen::Vector2d lengths =
            rays.colPivHouseholderQr().solve(first_from_this.translation());
        if (lengths.minCoeff() < depth_min_m)
            continue;
        const Eigen::Vector3d point =
            (lengths[0] * ray + first_from_this.translation() + lengths[1] * other) / 2;
        const Eigen::Vector3d in_this = first_from_this.inverse() * point;
        if ((rig.project(point) - first_seen->left).norm() > ray_miss_max_px ||
            (rig.project(in_this) - seen.left).norm() > ray_miss_max_px)
            continue;
        result.landmarks[seen.landmark] = {first.id, point};
    }
}

/* Landmarks of the keyframes before that should be in this image: the corner near there that looks
 * the same. */
void Mapping::find_again(const Keyframe &keyframe, const StereoImages &images, const Map &map,
                         MappingResult &result) const {
    std::set<LandmarkId> followed;
    std::vector<cv::Point2f> taken;
    for (const Observation &seen : keyframe.observations) {
        followed.insert(seen.landmark);
        taken.push_back(as_point(seen.left));
    }
    const Pose left_from_world = keyframe.world_from_left.inverse();
    struct Wanted {
        LandmarkId landmark;
        Descriptor descriptor;
        Eigen::Vector2d expected;
    };
    std::vector<Wanted> wanted;
    auto neighbour = std::make_reverse_iterator(map.keyframes().find(keyframe.id));
    for (std::size_t n = 0; n < neighbours && neighbour != map.keyframes().rend(); n++, neighbour++)
        for (const auto &[landmark, descriptor] : neighbour->second.descriptors) {
            const auto position = map.position(landmark);
            if (!position || !followed.insert(landmark).second)
                continue;
            const Eigen::Vector3d there = left_from_world * *position;
            const Eigen::Vector2d pixel = rig.project(there);
            if (there.z() > depth_min_m && pixel.x() > 0 && pixel.y() > 0 &&
                pixel.x() < rig.size.width && pixel.y() < rig.size.height)
                wanted.push_back({landmark, descriptor, pixel});
        }
    if (wanted.empty())
        return;
    const std::vector<cv::Point2f> corners = find_corners(images.left, taken);
    const auto descriptors = describe(images.left, corners);
    for (std::size_t n = 0; n < corners.size(); n++) {
        if (!descriptors[n])
            continue;
        const Wanted *best = nullptr;
        int best_bits = same_max_bits + 1;
        for (const Wanted &candidate : wanted) {
            const int bits = distance(*descriptors[n], candidate.descriptor);
            if (bits < best_bits &&
                (candidate.expected - as_vector(corners[n])).norm() < search_px) {
                best = &candidate;
                best_bits = bits;
            }
        }
        if (!best)
            continue;
        result.found_again.push_back({best->landmark, as_vector(corners[n]), {}});
        const LandmarkId taken_now = best->landmark;
        wanted.erase(std::remove_if(wanted.begin(), wanted.end(),
                                    [&](const Wanted &one) { return one.landmark == taken_now; }),
                     wanted.end());
    }
}

} // namespace ar_hud
