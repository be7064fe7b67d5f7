/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * State optimisation: bundle adjustment of the latest keyframes and of what they see, with those
 * before them fixed, and the end of keyframes that add nothing.
 */
#pragma once

#include "map.hpp"

namespace ar_hud {

class Optimisation {
  public:
    explicit Optimisation(const StereoRig &rig) : rig(rig) {
    }

    /* Nothing while there are fewer than two keyframes with landmarks. */
    std::optional<OptimisationResult> process(const Map &map) const;

  private:
    StereoRig rig;
};

} // namespace ar_hud
