/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "shared_map.hpp"

#include "../slam/mapping.hpp"
#include "../slam/optimisation.hpp"

#include <algorithm>

namespace ar_hud {

namespace {

/* The rotation made one again: each correction is computed from keyframes that went through those before,
 * so that what rounding leaves doubles every few keyframes. */
Pose without_rounding(const Pose &pose) {
    Pose rigid = pose;
    rigid.linear() = Eigen::Quaterniond(pose.linear()).normalized().toRotationMatrix();
    return rigid;
}

} // namespace

Snapshot SharedMap::snapshot() {
    const std::lock_guard<InheritingMutex> guard(reading);
    return published;
}

Map SharedMap::around(const StereoRig &rig, KeyframeId keyframe) {
    const std::lock_guard<InheritingMutex> guard(writing);
    return map.around(rig, keyframe, latest_searched, older_searched);
}

Map SharedMap::sharing() {
    const std::lock_guard<InheritingMutex> guard(writing);
    return map.sharing(optimised_keyframes, fixed_keyframes);
}

void SharedMap::add(Keyframe keyframe, const Pose &computed) {
    const std::lock_guard<InheritingMutex> guard(writing);
    keyframe.world_from_left = moved * computed.inverse() * keyframe.world_from_left;
    map.add(std::move(keyframe));
    publish();
}

void SharedMap::apply(const MappingResult &result) {
    const std::lock_guard<InheritingMutex> guard(writing);
    map.apply(result);
    publish();
}

void SharedMap::apply(const OptimisationResult &result) {
    const std::lock_guard<InheritingMutex> guard(writing);
    moved = without_rounding(map.apply(result) * moved);
    publish();
}

void SharedMap::publish() {
    Snapshot next{std::make_shared<const Map>(map.latest(snapshot_keyframes)), moved};
    {
        const std::lock_guard<InheritingMutex> guard(reading);
        std::swap(published, next);
    }
    retired.push_back(std::move(next.map));
    /* Nobody can get one of these any more: who is alone with it stays alone. */
    retired.erase(std::remove_if(retired.begin(), retired.end(),
                                 [](const auto &map) { return map.use_count() == 1; }),
                  retired.end());
}

} // namespace ar_hud
