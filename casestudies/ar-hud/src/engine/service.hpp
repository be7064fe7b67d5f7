/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How long the stages take in virtual time. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ar_hud {

/* For the jobs that a frame causes: by frame and not by keyframe, so that the times are the same
 * whichever frames become keyframes. */
struct ServiceTimes {
    bool dropped = false; /* the front-end never sees the frame */
    std::int64_t front_end_ns = 0;
    std::int64_t mapping_ns = 0;
    std::int64_t optimisation_ns = 0;
    bool optimised = true; /* whether optimisation has the keyframe at all */
};

using Service = std::function<ServiceTimes(std::size_t frame)>;

} // namespace ar_hud
