/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "mapping.hpp"

#include "patch.hpp"
#include "pose.hpp"

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
/* A landmark is looked for this far from where it should be, and taken if it is this near to where
 * it should be from where the others are seen. */
constexpr double search_px = 16;
constexpr double found_px = 3;
/* Two landmarks are one only if they are that near, too: in pixels of disparity. */
constexpr double same_disparity_px = 1.5;

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

/* A corner of the keyframe that may be a landmark that was seen before. */
struct Corner {
    Observation seen;
    Descriptor descriptor;
    bool followed; /* as a landmark of its own */
};

/* Landmarks that a keyframe should see and does not know of, with what they looked like wherever they
 * were seen. */
class WantedLandmarks {
  public:
    WantedLandmarks(const StereoRig &rig, const Keyframe &keyframe, const Map &map)
        : rig(rig), map(map), cells_x(rig.size.width / cell_px + 1),
          cells(static_cast<std::size_t>(cells_x * (rig.size.height / cell_px + 1))) {
        for (const Observation &seen : keyframe.observations)
            known.insert(seen.landmark);
        const Pose left_from_world = keyframe.world_from_left.inverse();
        for (const auto &[id, other] : map.keyframes())
            if (id != keyframe.id)
                for (const auto &[landmark, descriptor] : other.descriptors)
                    add(landmark, descriptor, left_from_world);
    }

    bool empty() const {
        return wanted.empty();
    }

    /* And how many bits are different. */
    std::optional<std::pair<LandmarkId, int>> most_like(const Corner &corner) const {
        std::optional<std::pair<LandmarkId, int>> best;
        int best_bits = same_max_bits + 1;
        const int x = static_cast<int>(corner.seen.left.x()) / cell_px;
        const int y = static_cast<int>(corner.seen.left.y()) / cell_px;
        for (int row = std::max(0, y - 1); row <= y + 1; row++)
            for (int column = std::max(0, x - 1); column <= std::min(x + 1, cells_x - 1);
                 column++) {
                const auto cell = static_cast<std::size_t>(row * cells_x + column);
                if (cell >= cells.size())
                    continue;
                for (LandmarkId landmark : cells[cell]) {
                    const Wanted &one = wanted.at(landmark);
                    if (!may_be(corner, landmark, one))
                        continue;
                    for (const Descriptor *descriptor : one.descriptors) {
                        const int bits = distance(corner.descriptor, *descriptor);
                        if (bits < best_bits) {
                            best_bits = bits;
                            best = {landmark, bits};
                        }
                    }
                }
            }
        return best;
    }

  private:
    static constexpr int cell_px = 16;
    static_assert(cell_px >= search_px);

    struct Wanted {
        Eigen::Vector2d expected;
        double disparity_px;
        std::vector<const Descriptor *> descriptors;
    };

    void add(LandmarkId landmark, const Descriptor &descriptor, const Pose &left_from_world) {
        const auto before = wanted.find(landmark);
        if (before != wanted.end()) {
            before->second.descriptors.push_back(&descriptor);
            return;
        }
        if (known.count(landmark))
            return;
        const auto position = map.position(landmark);
        if (!position)
            return;
        const Eigen::Vector3d there = left_from_world * *position;
        if (there.z() < depth_min_m || !rig.sees(there))
            return;
        const Eigen::Vector2d pixel = rig.project(there);
        wanted[landmark] = {pixel, rig.focal_length * rig.baseline_m / there.z(), {&descriptor}};
        cells[static_cast<std::size_t>(static_cast<int>(pixel.y()) / cell_px * cells_x +
                                       static_cast<int>(pixel.x()) / cell_px)]
            .push_back(landmark);
    }

    /* Near enough; and of two landmarks that one keyframe saw neither is the other. */
    bool may_be(const Corner &corner, LandmarkId landmark, const Wanted &one) const {
        if ((one.expected - corner.seen.left).norm() > search_px)
            return false;
        if (!corner.followed)
            return true;
        if (corner.seen.right_u && std::abs(corner.seen.left.x() - *corner.seen.right_u -
                                            one.disparity_px) > same_disparity_px)
            return false;
        /* The older one's name stays. */
        if (corner.seen.landmark < landmark)
            return false;
        const auto &here = map.observers(corner.seen.landmark), &there = map.observers(landmark);
        return std::find_first_of(here.begin(), here.end(), there.begin(), there.end()) ==
               here.end();
    }

    const StereoRig &rig;
    const Map &map;
    const int cells_x;
    std::set<LandmarkId> known;
    std::map<LandmarkId, Wanted> wanted;
    std::vector<std::vector<LandmarkId>> cells; /* by where they are expected */
};

} // namespace

MappingResult Mapping::process(KeyframeId id, const StereoImages &images, const Map &map,
                               bool search) const {
    const Keyframe &keyframe = map.keyframes().at(id);
    MappingResult result;
    result.keyframe = id;
    match_stereo(keyframe, images, map, result);
    triangulate_over_time(keyframe, map, result);

    std::vector<cv::Point2f> corners;
    for (const Observation &seen : keyframe.observations)
        corners.push_back(as_point(seen.left));
    const auto descriptors = describe(images.left, corners);
    for (std::size_t n = 0; n < corners.size(); n++)
        if (descriptors[n])
            result.descriptors[keyframe.observations[n].landmark] = *descriptors[n];
    if (search)
        find_again(keyframe, images, map, result);
    return result;
}

/* Every corner is looked for in the right image: from where its landmark should be there, else from
 * the most similar place of its row. */
void Mapping::match_stereo(const Keyframe &keyframe, const StereoImages &images, const Map &map,
                           MappingResult &result) const {
    const int disparity_max = static_cast<int>(rig.focal_length * rig.baseline_m / depth_min_m);
    const Pose left_from_world = keyframe.world_from_left.inverse();
    for (const Observation &seen : keyframe.observations) {
        const cv::Point2f corner = as_point(seen.left);
        std::optional<double> expected;
        if (const auto position = map.position(seen.landmark)) {
            const double depth = (left_from_world * *position).z();
            if (depth > depth_min_m)
                expected = rig.focal_length * rig.baseline_m / depth;
        } else if (const auto best = best_disparity(images, corner, disparity_max)) {
            expected = *best;
        }
        if (!expected)
            continue;
        const auto found = align({images.left, corner}, cv::Matx22f::eye(), images.right,
                                 corner - cv::Point2f(static_cast<float>(*expected), 0));
        if (!found || std::abs(found->y - corner.y) > rows_apart_max_px)
            continue;
        const double disparity = corner.x - found->x;
        if (disparity < disparity_min_px || disparity > disparity_max)
            continue;
        result.right_u.emplace_back(seen.landmark, found->x);
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

/* Landmarks that should be in this image, of all keyframes that there are: the corner near there that
 * looks the same. If that is followed as another landmark, the two are one. */
void Mapping::find_again(const Keyframe &keyframe, const StereoImages &images, const Map &map,
                         MappingResult &result) const {
    const WantedLandmarks wanted(rig, keyframe, map);
    if (wanted.empty())
        return;
    std::vector<Corner> corners;
    std::vector<cv::Point2f> taken;
    for (const Observation &seen : keyframe.observations) {
        taken.push_back(as_point(seen.left));
        const auto descriptor = result.descriptors.find(seen.landmark);
        if (descriptor != result.descriptors.end())
            corners.push_back({seen, descriptor->second, true});
    }
    for (const auto &[landmark, right_u] : result.right_u)
        for (Corner &corner : corners)
            if (corner.seen.landmark == landmark)
                corner.seen.right_u = right_u;
    const std::vector<cv::Point2f> others = find_corners(images.left, taken);
    const auto descriptors = describe(images.left, others);
    for (std::size_t n = 0; n < others.size(); n++)
        if (descriptors[n])
            corners.push_back({{0, as_vector(others[n]), {}}, *descriptors[n], false});

    struct Match {
        const Corner *corner;
        LandmarkId landmark;
        int bits;
    };
    std::map<LandmarkId, Match> matches; /* the corner that looks most like the landmark */
    for (const Corner &corner : corners)
        if (const auto best = wanted.most_like(corner)) {
            const Match match{&corner, best->first, best->second};
            const auto [place, first] = matches.emplace(match.landmark, match);
            if (!first && match.bits < place->second.bits)
                place->second = match;
        }
    std::vector<Sighting> sightings;
    for (const auto &[landmark, match] : matches)
        sightings.push_back({*map.position(landmark), match.corner->seen.left});
    /* Where most of them agree that the camera is, else where it thinks that it is. */
    const auto located = locate(rig, sightings);
    const Pose left_from_world =
        (located ? located->world_from_left : keyframe.world_from_left).inverse();
    for (const auto &[landmark, match] : matches) {
        const Eigen::Vector3d there = left_from_world * *map.position(landmark);
        if (there.z() < depth_min_m ||
            (rig.project(there) - match.corner->seen.left).norm() > found_px)
            continue;
        if (!match.corner->followed) {
            Observation seen = match.corner->seen;
            seen.landmark = landmark;
            result.found_again.push_back(seen);
        } else {
            result.same.emplace_back(match.corner->seen.landmark, landmark);
        }
    }
}

} // namespace ar_hud
