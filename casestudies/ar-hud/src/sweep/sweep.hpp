/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* From timing to accuracy: one sequence under many disturbances, with several seeds of each. */
#pragma once

#include "../engine/disturbance.hpp"
#include "../euroc/sequence.hpp"
#include "../evaluation/run_errors.hpp"

#include <functional>
#include <string>
#include <vector>

namespace ar_hud {

struct Point {
    std::string experiment;
    double value = 0; /* in the experiment's unit */
    Disturbance disturbance;
};

/* All points, those of an experiment one after the other. */
std::vector<Point> sweep_points();

struct Outcome {
    Point point;
    std::uint64_t seed = 0;
    RunErrors errors;
    std::size_t keyframes_refused = 0; /* mapping was not late but saturated */
};

/*
 * Runs seeds 1 to `seeds` of each point, on all processors; outcomes are in the order of points and
 * seeds. The images of the first `frames` frames are kept in memory, some 0.7 MB each.
 */
std::vector<Outcome> sweep(const Sequence &sequence, std::size_t frames,
                           const std::vector<Point> &points, std::uint64_t seeds,
                           const std::function<void(std::size_t, std::size_t)> &progress);

/* A row a run, with units in the head. */
std::string csv_of(const std::vector<Outcome> &outcomes);

} // namespace ar_hud
