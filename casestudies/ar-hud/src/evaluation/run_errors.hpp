/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What came of a run in virtual time. */
#pragma once

#include "../engine/virtual_time.hpp"
#include "errors.hpp"

namespace ar_hud {

/* A run has failed if its median error is above this: what the application requires (RT-Gang++,
 * section 7.1.1, of its table 5). */
constexpr double required_ate_m = 0.3;

struct RunErrors {
    double processed_share = 0; /* of the frames */
    std::size_t lost = 0;       /* frames that the front-end had and could not locate */
    bool evaluated = false;     /* false: fewer than three poses, and no errors below */
    Statistics absolute;        /* m */
    Statistics stale;           /* m, see staleness.hpp; shown one frame after the tick */
    double stale_p95_m = 0;
    bool failed = true;
};

/* Poses of the frames that were processed, as they were when they were ready; of every `every`th frame. */
Trajectory trajectory_of(const Run &run, std::size_t every = 1);

/* The true poses at these frames, also at those that were dropped; of those that have a true pose near. */
Trajectory truth_of(const Run &run, const Trajectory &truth, std::size_t every = 1);

RunErrors errors_of(const Run &run, const Trajectory &truth);

} // namespace ar_hud
