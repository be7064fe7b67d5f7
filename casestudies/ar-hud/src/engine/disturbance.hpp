/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Service times as contention makes them, for sweeps: of a seed each, whatever the order of calls. */
#pragma once

#include "service.hpp"

namespace ar_hud {

/* What the stages take undisturbed, and by how much they vary. */
struct StageTimes {
    double front_end_ms = 4;
    double mapping_ms = 5;
    double optimisation_ms = 12;
    /* Of the logarithm of each time: a fifth more or less, two times in three. */
    double sigma = 0.2;
};

struct Disturbance {
    StageTimes stages;
    double factor = 1; /* of all stages' times */
    /* Frames that never arrive, as a share of all, in bursts of this length on average; 1: each for
     * itself. Between two bursts a frame arrives: large shares make longer bursts. */
    double dropped_share = 0;
    double burst_frames = 1;
    /* What mapping and optimisation take longer, in frames of 50 ms. */
    double mapping_late_frames = 0;
    double optimisation_late_frames = 0;
    bool optimised = true;
};

/* `frames` is how many the sequence has. */
Service disturbed(const Disturbance &disturbance, std::size_t frames, std::uint64_t seed);

} // namespace ar_hud
