/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The map that the threads of real time share. Readers take a snapshot that nobody changes any more, by
 * copying a pointer; who changes the map makes the next snapshot. */
#pragma once

#include "../slam/map.hpp"
#include "work_queue.hpp"

#include <memory>

namespace ar_hud {

/* Of a snapshot: more than optimisation has in its window, or than a glance back needs. */
constexpr std::size_t snapshot_keyframes = 20;

struct Snapshot {
    std::shared_ptr<const Map> map;
    /* All corrections of the world until now: this world from that of the start. */
    Pose moved = Pose::Identity();
};

class SharedMap {
  public:
    Snapshot snapshot();
    /* Copies of parts of the map, for mapping and for optimisation: see Map. */
    Map around(const StereoRig &rig, KeyframeId keyframe);
    Map sharing();
    /* `computed` is the world that the keyframe's pose is in. */
    void add(Keyframe keyframe, const Pose &computed);
    void apply(const MappingResult &result);
    void apply(const OptimisationResult &result);

  private:
    void publish();

    InheritingMutex writing; /* the front-end never takes it */
    Map map;
    Pose moved = Pose::Identity();
    /* Snapshots that were replaced, while somebody may still read them: who changes the map frees
     * them, so that no reader has to. */
    std::vector<std::shared_ptr<const Map>> retired;
    InheritingMutex reading; /* held for a pointer's copy */
    Snapshot published{std::make_shared<const Map>(), Pose::Identity()};
};

} // namespace ar_hud
