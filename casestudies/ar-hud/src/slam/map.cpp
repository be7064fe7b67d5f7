/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "map.hpp"

#include <algorithm>

namespace ar_hud {

namespace {

/* A keyframe waits for mapping, or a track for the front-end, while no more than these are mapped. */
constexpr std::size_t renamed_keyframes = 8;
/* So many of a keyframe's landmarks say whether another camera sees what it has seen, */
constexpr std::size_t samples = 16;
/* of which it has to see this share, not much nearer or farther than the keyframe did. */
constexpr double samples_seen_min = 0.25;
constexpr double nearer_max = 2;

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

LandmarkId Map::known_as(LandmarkId landmark) const {
    for (const auto &[keyframe, names] : known_as_) {
        const auto found = names.find(landmark);
        if (found != names.end())
            landmark = found->second;
    }
    return landmark;
}

Map Map::part(const std::set<KeyframeId> &ids) const {
    Map part;
    part.known_as_ = known_as_;
    std::vector<KeyframeId> anchors;
    for (KeyframeId id : ids) {
        const Keyframe &keyframe = keyframes_.at(id);
        part.keyframes_.emplace(id, keyframe);
        for (const Observation &seen : keyframe.observations) {
            part.observers_[seen.landmark].push_back(id);
            const auto landmark = landmarks_.find(seen.landmark);
            if (landmark != landmarks_.end() && part.landmarks_.insert(*landmark).second)
                anchors.push_back(landmark->second.anchor);
        }
    }
    for (KeyframeId id : anchors) {
        const Keyframe &anchor = keyframes_.at(id);
        part.keyframes_.insert({id, {id, anchor.frame, anchor.world_from_left, {}, {}, true, {}}});
    }
    return part;
}

std::set<KeyframeId> Map::latest_ids(std::size_t count, bool with_redundant) const {
    std::set<KeyframeId> ids;
    for (auto keyframe = keyframes_.rbegin(); keyframe != keyframes_.rend() && ids.size() < count;
         keyframe++)
        if (with_redundant || !keyframe->second.redundant || ids.empty())
            ids.insert(keyframe->first);
    return ids;
}

Map Map::latest(std::size_t count) const {
    return part(latest_ids(count, true));
}

Map Map::around(const StereoRig &rig, KeyframeId id, std::size_t latest, std::size_t older) const {
    std::set<KeyframeId> ids = latest_ids(latest, true);
    const Pose left_from_world = keyframes_.at(id).world_from_left.inverse();
    std::vector<std::pair<double, KeyframeId>> candidates; /* by the share that is not seen */
    for (const auto &[other, keyframe] : keyframes_) {
        const std::size_t every = keyframe.observations.size() / samples + 1;
        double seen = 0, of = 0;
        for (std::size_t n = 0; n < keyframe.observations.size() && !ids.count(other); n += every) {
            const auto point = position(keyframe.observations[n].landmark);
            if (!point)
                continue;
            of++;
            const Eigen::Vector3d there = left_from_world * *point;
            const double depth = (keyframe.world_from_left.inverse() * *point).z();
            seen +=
                there.z() > depth / nearer_max && there.z() < depth * nearer_max && rig.sees(there);
        }
        if (of > 0 && seen >= samples_seen_min * of)
            candidates.emplace_back(1 - seen / of, other);
    }
    std::sort(candidates.begin(), candidates.end());
    for (std::size_t n = 0; n < candidates.size() && n < older; n++)
        ids.insert(candidates[n].second);
    return part(ids);
}

Map Map::sharing(std::size_t latest, std::size_t older) const {
    std::set<KeyframeId> ids = latest_ids(latest, false);
    std::set<LandmarkId> landmarks;
    for (KeyframeId id : ids)
        for (const Observation &seen : keyframes_.at(id).observations)
            landmarks.insert(seen.landmark);
    std::map<KeyframeId, std::size_t> shared;
    for (LandmarkId landmark : landmarks)
        if (landmarks_.count(landmark))
            for (KeyframeId other : observers(landmark))
                if (!ids.count(other) && !keyframes_.at(other).redundant)
                    shared[other]++;
    std::vector<std::pair<std::size_t, KeyframeId>> most;
    for (const auto &[other, count] : shared)
        most.emplace_back(count, other);
    std::sort(most.rbegin(), most.rend());
    for (std::size_t n = 0; n < most.size() && n < older; n++)
        ids.insert(most[n].second);
    return part(ids);
}

/* Some of its landmarks may have become others since it was made. */
void Map::add(Keyframe keyframe) {
    const std::vector<Observation> observations = std::move(keyframe.observations);
    keyframe.observations.clear();
    const KeyframeId id = keyframe.id;
    keyframes_[id] = std::move(keyframe);
    for (Observation seen : observations) {
        seen.landmark = known_as(seen.landmark);
        add_observation(id, seen);
    }
}

void Map::apply(const MappingResult &result) {
    for (const auto &[landmark, right_u] : result.right_u)
        if (Observation *seen = observation(result.keyframe, landmark))
            seen->right_u = right_u;
    keyframes_.at(result.keyframe).descriptors = result.descriptors;
    /* Not those that have got a position meanwhile. */
    landmarks_.insert(result.landmarks.begin(), result.landmarks.end());
    for (const Observation &seen : result.found_again)
        if (landmarks_.count(seen.landmark))
            add_observation(result.keyframe, seen);
    for (const auto &[landmark, really] : result.same)
        if (landmarks_.count(really))
            make_same(result.keyframe, landmark, really);
    while (known_as_.size() > renamed_keyframes)
        known_as_.erase(known_as_.begin());
}

/* Nothing if the keyframe sees the landmark already. */
void Map::add_observation(KeyframeId keyframe, const Observation &seen) {
    std::vector<Observation> &observations = keyframes_.at(keyframe).observations;
    const auto place = place_of(observations, seen.landmark);
    if (place != observations.end() && place->landmark == seen.landmark)
        return;
    observations.insert(place, seen);
    std::vector<KeyframeId> &observers = observers_[seen.landmark];
    observers.insert(std::lower_bound(observers.begin(), observers.end(), keyframe), keyframe);
}

/* Who saw the one saw the other. */
void Map::make_same(KeyframeId mapped, LandmarkId landmark, LandmarkId really) {
    const std::vector<KeyframeId> observers = this->observers(landmark);
    for (KeyframeId id : observers) {
        Keyframe &keyframe = keyframes_.at(id);
        Observation seen = *observation(id, landmark);
        keyframe.observations.erase(place_of(keyframe.observations, landmark));
        seen.landmark = really;
        add_observation(id, seen);
        const auto descriptor = keyframe.descriptors.find(landmark);
        if (descriptor != keyframe.descriptors.end()) {
            keyframe.descriptors.emplace(really, descriptor->second);
            keyframe.descriptors.erase(landmark);
        }
    }
    observers_.erase(landmark);
    landmarks_.erase(landmark);
    known_as_[mapped][landmark] = really;
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
