/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Mapping: for each keyframe, where its corners are in the right image, where the new ones are in the
 * world, and which landmarks it sees without having followed them (local map tracking).
 */
#pragma once

#include "map.hpp"
#include "tracking.hpp"

namespace ar_hud {

/* Keyframes whose landmarks are looked for: the latest, and others that see what this one sees. */
constexpr std::size_t latest_searched = 12;
constexpr std::size_t older_searched = 16;

class Mapping {
  public:
    explicit Mapping(const StereoRig &rig) : rig(rig) {
    }

    /* The keyframe is in the map; `images` are its rectified ones. `search` is whether to look for
     * landmarks that it has not followed, which can be left out when there is no time for it. */
    MappingResult process(KeyframeId keyframe, const StereoImages &images, const Map &map,
                          bool search) const;

  private:
    void match_stereo(const Keyframe &keyframe, const StereoImages &images, const Map &map,
                      MappingResult &result) const;
    void triangulate_over_time(const Keyframe &keyframe, const Map &map,
                               MappingResult &result) const;
    void find_again(const Keyframe &keyframe, const StereoImages &images, const Map &map,
                    MappingResult &result) const;

    StereoRig rig;
};

} // namespace ar_hud
