/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "front_end.hpp"

#include <algorithm>
#include <set>

namespace ar_hud {

namespace {

/* A keyframe is made when this share of the last one's corners is left, */
constexpr double tracks_left_min = 0.6;
/* or when corners have moved this far since, the camera's turning left out (pixels, median), */
constexpr double parallax_max_px = 25;
/* or after so many frames. */
constexpr std::size_t frames_max = 20;
/* A corner that has drifted further than this looks too different by now to be compared. */
constexpr double drift_max_px = 3;
/* A motion is not carried on for longer than this. */
constexpr std::size_t predicted_frames_max = 6;
/* Who has been lost for so long begins anew where he thinks that he is. */
constexpr std::size_t lost_frames_max = 20;

Pose repeated(const Pose &motion, std::size_t times) {
    Pose result = Pose::Identity();
    for (std::size_t n = 0; n < times; n++)
        result = result * motion;
    return result;
}

/* A share of a motion, by a rotation of the same axis. */
Pose share_of(const Pose &motion, double share) {
    Pose part = Pose::Identity();
    const Eigen::AngleAxisd turn(motion.linear());
    part.linear() = Eigen::AngleAxisd(turn.angle() * share, turn.axis()).toRotationMatrix();
    part.translation() = motion.translation() * share;
    return part;
}

double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Eigen::Vector2d as_vector(const cv::Point2f &point) {
    return {point.x, point.y};
}

} // namespace

FrameResult FrontEnd::process(std::size_t frame, const cv::Mat &left, const Map &map,
                              bool keyframes_allowed) {
    const Pyramid next = pyramid_of(left);
    FrameResult result;
    result.frame = frame;
    if (last.empty()) {
        result.keyframe = make_keyframe(frame, left, next);
    } else {
        const std::size_t steps = std::min(frame - last_frame, predicted_frames_max);
        const Pose before = world_from_left;
        const Pose expected = before * repeated(motion, steps);
        follow_tracks(next, map, expected);
        const bool starting = map.landmarks().empty();
        auto camera = locate_by_tracks(map, expected);
        if (!camera && !starting)
            camera = relocate(left, map);
        result.tracking = starting ? Tracking::starting
                          : camera ? Tracking::tracked
                                   : Tracking::lost;
        lost_since = camera || starting ? 0 : lost_since + 1;
        if (camera) {
            world_from_left = camera->world_from_left;
            motion = share_of(before.inverse() * world_from_left,
                              1 / static_cast<double>(frame - last_frame));
            result.inliers = camera->inliers;
        } else {
            world_from_left = expected;
            motion = share_of(motion, 0.5);
        }
        const bool anew = lost_since >= lost_frames_max;
        if (keyframes_allowed && (anew || (camera && wants_keyframe(frame)))) {
            if (anew)
                tracks.clear();
            lost_since = 0;
            result.keyframe = make_keyframe(frame, left, next);
        }
    }
    result.world_from_left = world_from_left;
    result.corners = tracks.size();
    last = next;
    last_frame = frame;
    return result;
}

void FrontEnd::correct(const Pose &moved) {
    world_from_left = moved * world_from_left;
    keyframe_pose = moved * keyframe_pose;
}

/* Landmarks are looked for where the expected camera has them, other corners where they were, both
 * in a camera that has turned as expected. */
void FrontEnd::follow_tracks(const Pyramid &next, const Map &map, const Pose &expected) {
    const Pose next_from_world = expected.inverse();
    const Eigen::Matrix3d turned = next_from_world.linear() * world_from_left.linear();
    std::vector<cv::Point2f> corners, guess;
    for (const Track &track : tracks) {
        const auto position = map.position(track.landmark);
        const Eigen::Vector3d there =
            position ? Eigen::Vector3d(next_from_world * *position)
                     : Eigen::Vector3d(turned * rig.triangulate(as_vector(track.at), 1));
        const Eigen::Vector2d pixel = there.z() > 0 ? rig.project(there) : as_vector(track.at);
        corners.push_back(track.at);
        guess.emplace_back(static_cast<float>(pixel.x()), static_cast<float>(pixel.y()));
    }
    const auto found = follow(last, next, corners, guess);
    std::vector<Track> kept;
    for (std::size_t n = 0; n < tracks.size(); n++)
        if (found[n])
            kept.push_back({tracks[n].landmark, *found[n], tracks[n].at_keyframe});
    tracks = std::move(kept);
    compare_with_keyframe(next);
}

/* From frame to frame small errors add up; against the keyframe there is only one. */
void FrontEnd::compare_with_keyframe(const Pyramid &next) {
    std::vector<cv::Point2f> corners, guess;
    for (const Track &track : tracks) {
        corners.push_back(track.at_keyframe);
        guess.push_back(track.at);
    }
    const auto found = follow(keyframe_pyramid, next, corners, guess);
    for (std::size_t n = 0; n < tracks.size(); n++)
        if (found[n] && cv::norm(*found[n] - tracks[n].at) < drift_max_px)
            tracks[n].at = *found[n];
}

/* Tracks that do not agree with the pose are given up. */
std::optional<LocatedCamera> FrontEnd::locate_by_tracks(const Map &map, const Pose &expected) {
    std::vector<Sighting> sightings;
    std::vector<std::size_t> of_track;
    for (std::size_t n = 0; n < tracks.size(); n++)
        if (const auto position = map.position(tracks[n].landmark)) {
            sightings.push_back({*position, as_vector(tracks[n].at)});
            of_track.push_back(n);
        }
    auto camera = locate(rig, sightings);
    if (!camera)
        camera = refine(rig, sightings, expected);
    /* What less than half agrees on is a guess. */
    if (!camera || 2 * camera->inliers < sightings.size())
        return std::nullopt;
    std::vector<bool> wrong(tracks.size(), false);
    for (std::size_t n = 0; n < sightings.size(); n++)
        wrong[of_track[n]] = !camera->inlier[n];
    std::vector<Track> kept;
    for (std::size_t n = 0; n < tracks.size(); n++)
        if (!wrong[n])
            kept.push_back(tracks[n]);
    tracks = std::move(kept);
    return camera;
}

/* Corners of this image against the landmarks of keyframes, the latest first. */
std::optional<LocatedCamera> FrontEnd::relocate(const cv::Mat &left, const Map &map) {
    const std::vector<cv::Point2f> corners = find_corners(left, {});
    const auto descriptors = describe(left, corners);
    for (auto keyframe = map.keyframes().rbegin(); keyframe != map.keyframes().rend(); keyframe++) {
        std::vector<Sighting> sightings;
        std::vector<Track> matched;
        std::set<LandmarkId> used;
        for (std::size_t n = 0; n < corners.size(); n++) {
            if (!descriptors[n])
                continue;
            const auto match = best_match(*descriptors[n], keyframe->second.descriptors);
            const auto position = match ? map.position(*match) : std::nullopt;
            if (!position || !used.insert(*match).second)
                continue;
            sightings.push_back({*position, as_vector(corners[n])});
            matched.push_back({*match, corners[n], corners[n]});
        }
        const auto camera = locate(rig, sightings);
        if (!camera || camera->inliers < 2 * sightings_min)
            continue;
        tracks.clear();
        for (std::size_t n = 0; n < matched.size(); n++)
            if (camera->inlier[n])
                tracks.push_back(matched[n]);
        keyframe_pyramid = pyramid_of(left);
        /* What it follows now is little: the next frame is to become a keyframe. */
        tracks_at_keyframe = corners_max(left.size());
        return camera;
    }
    return std::nullopt;
}

bool FrontEnd::wants_keyframe(std::size_t frame) const {
    if (frame - keyframe_frame >= frames_max ||
        static_cast<double>(tracks.size()) <
            tracks_left_min * static_cast<double>(tracks_at_keyframe))
        return true;
    const Eigen::Matrix3d turned = world_from_left.linear().transpose() * keyframe_pose.linear();
    std::vector<double> moved_px;
    for (const Track &track : tracks) {
        const Eigen::Vector3d far = turned * rig.triangulate(as_vector(track.at_keyframe), 1);
        moved_px.push_back((rig.project(far) - as_vector(track.at)).norm());
    }
    return median(moved_px) > parallax_max_px;
}

Keyframe FrontEnd::make_keyframe(std::size_t frame, const cv::Mat &left, const Pyramid &pyramid) {
    std::vector<cv::Point2f> taken;
    for (Track &track : tracks) {
        taken.push_back(track.at);
        track.at_keyframe = track.at;
    }
    for (const cv::Point2f &corner : find_corners(left, taken))
        tracks.push_back({next_landmark++, corner, corner});
    Keyframe keyframe;
    keyframe.id = next_keyframe++;
    keyframe.frame = frame;
    keyframe.world_from_left = world_from_left;
    for (const Track &track : tracks)
        keyframe.observations.push_back({track.landmark, as_vector(track.at), {}});
    std::sort(keyframe.observations.begin(), keyframe.observations.end(),
              [](const Observation &a, const Observation &b) { return a.landmark < b.landmark; });
    keyframe_pyramid = pyramid;
    tracks_at_keyframe = tracks.size();
    keyframe_frame = frame;
    keyframe_pose = world_from_left;
    return keyframe;
}

} // namespace ar_hud
