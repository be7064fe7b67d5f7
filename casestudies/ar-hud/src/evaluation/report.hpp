/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What is said of a run: the errors of a trajectory, in text and in JSON. */
#pragma once

#include "errors.hpp"

#include <string>

namespace ar_hud {

struct TrajectoryErrors {
    std::size_t estimated = 0; /* poses; those near a true one are absolute.count */
    Statistics absolute;       /* m, after alignment */
    Statistics relative;       /* m */
    Statistics relative_turn;  /* rad */
    std::size_t step = 0;      /* of the relative errors, in poses */
};

/* Throws InputError, which names `estimate`, if fewer than three poses are near a true one. */
TrajectoryErrors evaluate(const Trajectory &estimated, const Trajectory &truth, std::size_t step,
                          const std::filesystem::path &estimate);

std::string text_of(const TrajectoryErrors &errors);
std::string json_of(const TrajectoryErrors &errors);

} // namespace ar_hud
