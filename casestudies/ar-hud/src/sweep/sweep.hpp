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

/* As it is called: "dropped_share=0.25". Throws InputError, which names all, if there is none. */
Point sweep_point(const std::string &name);
std::string name_of(const Point &point);

/* One run that is to be made. */
struct SweepRun {
    Point point;
    std::uint64_t seed = 0;
};

struct Outcome {
    SweepRun run;
    RunErrors errors;
    std::size_t keyframes_refused = 0; /* mapping was not late but saturated */
};

/*
 * Makes the runs on all processors; `done` is told of each as it ends, of one at a time, in any order. The
 * images of the first `frames` frames are kept in memory, some 0.7 MB each.
 */
void sweep(const Sequence &sequence, std::size_t frames, const std::vector<SweepRun> &runs,
           const std::function<void(const Outcome &)> &done);

} // namespace ar_hud
