/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * State optimisation: bundle adjustment of the latest keyframes and of what they see, with older ones
 * that see the same fixed, and the end of keyframes that add nothing.
 */
#pragma once

#include "map.hpp"

namespace ar_hud {

/* Keyframes whose poses are sought, and older ones that hold them where they are. */
constexpr std::size_t optimised_keyframes = 8;
constexpr std::size_t fixed_keyframes = 20;

class Optimisation {
  public:
    explicit Optimisation(const StereoRig &rig) : rig(rig) {
    }

    /* `map` has no more keyframes than the two constants say: see Map::sharing. Nothing while there are fewer than two keyframes with landmarks. */
    std::optional<OptimisationResult> process(const Map &map) const;

  private:
    StereoRig rig;
};

} // namespace ar_hud
