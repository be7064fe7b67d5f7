/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "map.hpp"

#include <algorithm>

namespace ar_hud {

namespace {

auto place_of(std::vector<Observation> &observations, LandmarkId landmark) {
    return std::lower_bound(
        observations.begin(), observations.end(), landmark,
        [](const Observation &seen, LandmarkId id) { return seen.landmark < id; });
}

} // namespace

std::optional<Eigen::Vector3d> Map::position(LandmarkId landmark) const {
    const auto found = landmarks_.find(landmark);
    if (found == landmarks_.end())
        return std::nullopt;
    return keyframes_.at(found->second.anchor).world_from_left * found->second.in_anchor;
}

const std::vector<KeyframeId> &Map::observers(LandmarkId landmark) const {
    static const std::vector<KeyframeId> nobody;
    const auto found = observers_.find(landmark);
    return found == observers_.end() ? nobody : found->second;
}

Observation *Map::observation(KeyframeId keyframe, LandmarkId landmark) {
    std::vector<Observation> &observations = keyframes_.at(keyframe).observations;
    const auto place = place_of(observations, landmark);
    return place != observations.end() && place->landmark == landmark ? &*place : nullptr;
}

Map Map::latest(std::size_t count) const {
    Map part;
    for (auto keyframe = keyframes_.rbegin();
         keyframe != keyframes_.rend() && part.keyframes_.size() < count; keyframe++)
        part.keyframes_.insert(*keyframe);
    std::vector<KeyframeId> anchors;
    for (const auto &[id, keyframe] : part.keyframes_)
        for (const Observation &seen : keyframe.observations) {
            part.observers_[seen.landmark].push_back(id);
            const auto landmark = landmarks_.find(seen.landmark);
            if (landmark != landmarks_.end() && part.landmarks_.insert(*landmark).second)
                anchors.push_back(landmark->second.anchor);
        }
    for (KeyframeId id : anchors) {
        const Keyframe &anchor = keyframes_.at(id);
        part.keyframes_.insert({id, {id, anchor.frame, anchor.world_from_left, {}, {}, true}});
    }
    return part;
}

void Map::add(Keyframe keyframe) {
    for (const Observation &seen : keyframe.observations)
        observers_[seen.landmark].push_back(keyframe.id);
    keyframes_[keyframe.id] = std::move(keyframe);
}

void Map::apply(const MappingResult &result) {
    for (const auto &[landmark, right_u] : result.right_u)
        if (Observation *seen = observation(result.keyframe, landmark))
            seen->right_u = right_u;
    keyframes_.at(result.keyframe).descriptors = result.descriptors;
    /* Not those that have got a position meanwhile. */
    landmarks_.insert(result.landmarks.begin(), result.landmarks.end());
    for (const Observation &seen : result.found_again) {
        if (observation(result.keyframe, seen.landmark))
            continue;
        std::vector<Observation> &observations = keyframes_.at(result.keyframe).observations;
        observations.insert(place_of(observations, seen.landmark), seen);
        std::vector<KeyframeId> &observers = observers_[seen.landmark];
        observers.insert(std::lower_bound(observers.begin(), observers.end(), result.keyframe),
                         result.keyframe);
    }
}

void Map::remove_observation(KeyframeId keyframe, LandmarkId landmark) {
    std::vector<Observation> &observations = keyframes_.at(keyframe).observations;
    const auto place = place_of(observations, landmark);
    if (place == observations.end() || place->landmark != landmark)
        return;
    observations.erase(place);
    std::vector<KeyframeId> &observers = observers_[landmark];
    observers.erase(std::find(observers.begin(), observers.end(), keyframe));
    /* What only its anchor has seen, wrongly, is nowhere. */
    if (observers.empty())
        landmarks_.erase(landmark);
}

Pose Map::apply(const OptimisationResult &result) {
    const auto &[newest, newest_after] = result.world_from_left.back();
    const Pose moved = newest_after * result.newest_before.inverse();
    for (auto &[id, keyframe] : keyframes_)
        if (id > newest)
            keyframe.world_from_left = moved * keyframe.world_from_left;
    for (const auto &[id, pose] : result.world_from_left)
        keyframes_.at(id).world_from_left = pose;
    for (const auto &[id, position] : result.in_world) {
        const auto found = landmarks_.find(id);
        if (found != landmarks_.end())
            found->second.in_anchor =
                keyframes_.at(found->second.anchor).world_from_left.inverse() * position;
    }
    for (const auto &[keyframe, landmark] : result.outliers)
        remove_observation(keyframe, landmark);
    for (KeyframeId id : result.redundant)
        keyframes_.at(id).redundant = true;
    return moved;
}

} // namespace ar_hud
