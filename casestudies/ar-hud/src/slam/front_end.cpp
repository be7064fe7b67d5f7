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
/* What was not seen for so many frames is given up. */
constexpr std::size_t missed_max = 8;
/* A motion is not carried on for longer than this. */
constexpr std::size_t predicted_frames_max = 6;
/* As good as endless: of what looks the same wherever the camera moves to. */
constexpr double far_m = 1e6;
/* Who has been lost for so long begins anew where he thinks that he is. */
constexpr std::size_t lost_frames_max = 60;
/* Who is lost compares corners of a finer grid with so many keyframes, and tries the few that look most
 * like it, each by so many random triples: few of the matches are right. */
constexpr int relocation_cell_px = 24;
constexpr std::size_t relocation_keyframes = 12;
constexpr std::size_t relocations_tried = 3;
constexpr int relocation_triples = 400;
/* A keyframe that is turned by this much sees as little of the same as one that is a metre away. */
constexpr double turn_of_a_metre_rad = 0.3;

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

cv::Point2f as_point(const Eigen::Vector2d &vector) {
    return {static_cast<float>(vector.x()), static_cast<float>(vector.y())};
}

/* Of those that have been mapped. */
std::vector<const Keyframe *> nearest_keyframes(const Map &map, const Pose &world_from_left) {
    std::vector<std::pair<double, const Keyframe *>> nearest;
    for (const auto &[id, keyframe] : map.keyframes()) {
        if (keyframe.descriptors.empty())
            continue;
        const Pose apart = world_from_left.inverse() * keyframe.world_from_left;
        nearest.emplace_back(apart.translation().norm() +
                                 Eigen::AngleAxisd(apart.linear()).angle() / turn_of_a_metre_rad,
                             &keyframe);
    }
    std::sort(nearest.begin(), nearest.end(), [](const auto &one, const auto &other) {
        return std::pair(one.first, one.second->id) < std::pair(other.first, other.second->id);
    });
    std::vector<const Keyframe *> keyframes;
    for (std::size_t n = 0; n < nearest.size() && n < relocation_keyframes; n++)
        keyframes.push_back(nearest[n].second);
    return keyframes;
}

} // namespace

FrameResult FrontEnd::process(std::size_t frame, const cv::Mat &left, const Map &map,
                              bool keyframes_allowed) {
    const Pyramid next = pyramid_of(left);
    FrameResult result;
    result.frame = frame;
    if (last.empty()) {
        result.keyframe = make_keyframe(frame, left);
    } else {
        const std::size_t steps = std::min(frame - last_frame, predicted_frames_max);
        const Pose before = world_from_left;
        const Pose expected = before * repeated(motion, steps);
        const bool starting = map.landmarks().empty();
        rename_tracks(map);
        auto camera = locate(next, map, expected);
        const bool followed = camera.has_value();
        if (!camera && !starting)
            camera = relocate(left, map, expected);
        result.tracking = starting ? Tracking::starting
                          : camera ? Tracking::tracked
                                   : Tracking::lost;
        lost_since = camera || starting ? 0 : lost_since + 1;
        if (camera) {
            world_from_left = camera->world_from_left;
            /* Who was lost does not know how he came here. */
            motion = followed ? share_of(before.inverse() * world_from_left,
                                         1 / static_cast<double>(frame - last_frame))
                              : Pose::Identity();
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
            result.keyframe = make_keyframe(frame, left);
        }
    }
    result.world_from_left = world_from_left;
    result.corners = tracks_seen();
    last = next;
    last_frame = frame;
    return result;
}

void FrontEnd::correct(const Pose &moved) {
    world_from_left = moved * world_from_left;
    keyframe_pose = moved * keyframe_pose;
    for (Track &track : tracks)
        track.patch.world_from_left = moved * track.patch.world_from_left;
}

/* What was a landmark of its own may have turned out to be another, which may be followed, too. */
void FrontEnd::rename_tracks(const Map &map) {
    std::set<LandmarkId> followed;
    std::vector<Track> kept;
    for (Track track : tracks) {
        track.landmark = map.known_as(track.landmark);
        if (followed.insert(track.landmark).second)
            kept.push_back(track);
    }
    tracks = std::move(kept);
}

/* Follows what a keyframe sees, too: mapping may have found landmarks in it that were known before. */
void FrontEnd::adopt(const Keyframe &keyframe, const Map &map) {
    std::set<LandmarkId> followed;
    for (const Track &track : tracks)
        followed.insert(track.landmark);
    for (const Observation &seen : keyframe.observations)
        if (map.landmarks().count(seen.landmark) && !followed.count(seen.landmark)) {
            const cv::Point2f at = as_point(seen.left);
            /* Nowhere in the last frame: it is looked for where it should be. */
            tracks.push_back(
                {seen.landmark, at, {keyframe.left, at, keyframe.world_from_left}, {}, 1});
        }
    adopted = keyframe.id;
}

std::optional<LocatedCamera> FrontEnd::locate(const Pyramid &next, const Map &map,
                                              const Pose &expected) {
    for (auto keyframe = map.keyframes().rbegin(); keyframe != map.keyframes().rend(); keyframe++)
        if (!keyframe->second.descriptors.empty()) {
            if (adopted != keyframe->first)
                adopt(keyframe->second, map);
            break;
        }
    follow_tracks(next, map, expected);
    const auto nearly = locate_by_tracks(map, expected);
    return look_closely(next[0], map, nearly ? nearly->world_from_left : expected);
}

/* Landmarks are looked for where the expected camera has them, other corners where they were, both
 * in a camera that has turned as expected. */
void FrontEnd::follow_tracks(const Pyramid &next, const Map &map, const Pose &expected) {
    const Pose next_from_world = expected.inverse();
    const Eigen::Matrix3d turned = next_from_world.linear() * world_from_left.linear();
    std::vector<cv::Point2f> corners, guess;
    std::vector<std::size_t> of_track;
    for (std::size_t n = 0; n < tracks.size(); n++) {
        const Track &track = tracks[n];
        if (track.missed > 0)
            continue;
        const auto position = map.position(track.landmark);
        const Eigen::Vector3d there =
            position ? Eigen::Vector3d(next_from_world * *position)
                     : Eigen::Vector3d(turned * rig.triangulate(as_vector(track.at), 1));
        const Eigen::Vector2d pixel = there.z() > 0 ? rig.project(there) : as_vector(track.at);
        corners.push_back(track.at);
        guess.push_back(as_point(pixel));
        of_track.push_back(n);
    }
    const auto found = follow(last, next, corners, guess);
    for (Track &track : tracks)
        track.missed++;
    for (std::size_t n = 0; n < found.size(); n++)
        if (found[n]) {
            tracks[of_track[n]].at = *found[n];
            tracks[of_track[n]].missed = 0;
        }
}

std::optional<LocatedCamera> FrontEnd::locate_by_tracks(const Map &map,
                                                        const Pose &expected) const {
    std::vector<Sighting> sightings;
    for (const Track &track : tracks)
        if (const auto position = map.position(track.landmark); position && track.missed == 0)
            sightings.push_back({*position, as_vector(track.at)});
    auto camera = ar_hud::locate(rig, sightings);
    if (!camera)
        camera = refine(rig, sightings, expected);
    /* What less than half agrees on is a guess. */
    if (!camera || 2 * camera->inliers < sightings.size())
        return std::nullopt;
    return camera;
}

/* Every track is looked for from where the camera is, nearly; where the camera is follows from those
 * that were found. */
std::optional<LocatedCamera> FrontEnd::look_closely(const cv::Mat &left, const Map &map,
                                                    const Pose &nearly) {
    std::vector<Sighting> sightings;
    std::vector<std::size_t> of_track;
    std::vector<Track> kept;
    for (Track &track : tracks) {
        const bool followed = track.missed == 0;
        const bool found = look_for(track, left, map, nearly);
        const auto position = map.position(track.landmark);
        if (found)
            track.missed = 0;
        else if (followed)
            track.missed = 1;
        /* Of what has no place nobody knows where to look next time. */
        if (track.missed > (position ? missed_max : 0))
            continue;
        if (position && found) {
            sightings.push_back({*position, as_vector(track.at)});
            of_track.push_back(kept.size());
        }
        kept.push_back(track);
    }
    const auto camera = refine(rig, sightings, nearly);
    if (!camera || 2 * camera->inliers < sightings.size())
        return std::nullopt;
    for (std::size_t n = 0; n < sightings.size(); n++)
        if (!camera->inlier[n])
            kept[of_track[n]].missed = 1;
    tracks = std::move(kept);
    return camera;
}

/* By what it looked like at first; if that is too long ago, by what it looked like in the last keyframe. */
bool FrontEnd::look_for(Track &track, const cv::Mat &left, const Map &map,
                        const Pose &nearly) const {
    const auto position = map.position(track.landmark);
    cv::Point2f guess = track.at;
    if (position) {
        const Eigen::Vector3d there = nearly.inverse() * *position;
        if (!rig.sees(there))
            return false;
        guess = as_point(rig.project(there));
    } else if (track.missed > 0) {
        return false;
    }
    const auto look = [&](const Patch &patch) {
        const Eigen::Vector3d in_world =
            position
                ? *position
                : patch.world_from_left * (far_m * rig.triangulate(as_vector(patch.corner), 1));
        return align(patch, warp_of(rig, patch, in_world, nearly), left, guess);
    };
    auto found = look(track.patch);
    if (!found && track.at_keyframe) {
        const Patch patch{keyframe_image, *track.at_keyframe, keyframe_pose};
        if ((found = look(patch)))
            track.patch = patch;
    }
    if (found)
        track.at = *found;
    return found.has_value();
}

/* Corners of this image against the landmarks of keyframes that may have seen the same; then those are
 * looked for, which tells whether it was a chance. */
std::optional<LocatedCamera> FrontEnd::relocate(const cv::Mat &left, const Map &map,
                                                const Pose &expected) {
    const std::vector<cv::Point2f> corners = find_corners(left, {}, relocation_cell_px);
    const auto descriptors = describe(left, corners);
    struct Candidate {
        const Keyframe *keyframe;
        std::vector<Sighting> sightings;
    };
    std::vector<Candidate> candidates;
    for (const Keyframe *keyframe : nearest_keyframes(map, expected)) {
        Candidate candidate{keyframe, {}};
        std::set<LandmarkId> used;
        for (std::size_t n = 0; n < corners.size(); n++) {
            if (!descriptors[n])
                continue;
            const auto match = best_match(*descriptors[n], keyframe->descriptors);
            const auto position = match ? map.position(*match) : std::nullopt;
            if (position && used.insert(*match).second)
                candidate.sightings.push_back({*position, as_vector(corners[n])});
        }
        candidates.push_back(std::move(candidate));
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const auto &one, const auto &other) {
        return one.sightings.size() > other.sightings.size();
    });
    if (candidates.size() > relocations_tried)
        candidates.resize(relocations_tried);
    const std::vector<Track> before = tracks;
    for (const Candidate &candidate : candidates) {
        const auto camera = ar_hud::locate(rig, candidate.sightings, relocation_triples);
        if (!camera)
            continue;
        tracks.clear();
        adopt(*candidate.keyframe, map);
        const auto closely = look_closely(left, map, camera->world_from_left);
        if (closely && closely->inliers >= 2 * sightings_min) {
            /* What it follows now is little: this frame is to become a keyframe. */
            tracks_at_keyframe = corners_max(left.size());
            return closely;
        }
    }
    tracks = before;
    return std::nullopt;
}

std::size_t FrontEnd::tracks_seen() const {
    return static_cast<std::size_t>(std::count_if(
        tracks.begin(), tracks.end(), [](const Track &track) { return track.missed == 0; }));
}

bool FrontEnd::wants_keyframe(std::size_t frame) const {
    if (frame - keyframe_frame >= frames_max ||
        static_cast<double>(tracks_seen()) <
            tracks_left_min * static_cast<double>(tracks_at_keyframe))
        return true;
    const Eigen::Matrix3d turned = world_from_left.linear().transpose() * keyframe_pose.linear();
    std::vector<double> moved_px;
    for (const Track &track : tracks) {
        if (track.missed > 0 || !track.at_keyframe)
            continue;
        const Eigen::Vector3d far = turned * rig.triangulate(as_vector(*track.at_keyframe), 1);
        moved_px.push_back((rig.project(far) - as_vector(track.at)).norm());
    }
    return median(moved_px) > parallax_max_px;
}

Keyframe FrontEnd::make_keyframe(std::size_t frame, const cv::Mat &left) {
    std::vector<cv::Point2f> taken;
    for (Track &track : tracks) {
        track.at_keyframe.reset();
        if (track.missed > 0)
            continue;
        taken.push_back(track.at);
        track.at_keyframe = track.at;
    }
    for (const cv::Point2f &corner : find_corners(left, taken))
        tracks.push_back({next_landmark++, corner, {left, corner, world_from_left}, corner, 0});
    Keyframe keyframe;
    keyframe.id = next_keyframe++;
    keyframe.frame = frame;
    keyframe.world_from_left = world_from_left;
    keyframe.left = left;
    for (const Track &track : tracks)
        if (track.missed == 0)
            keyframe.observations.push_back({track.landmark, as_vector(track.at), {}});
    std::sort(keyframe.observations.begin(), keyframe.observations.end(),
              [](const Observation &a, const Observation &b) { return a.landmark < b.landmark; });
    keyframe_image = left;
    tracks_at_keyframe = tracks_seen();
    keyframe_frame = frame;
    keyframe_pose = world_from_left;
    return keyframe;
}

} // namespace ar_hud
