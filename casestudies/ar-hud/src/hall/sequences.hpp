/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Five flights like those of EuRoC's machine hall, as sequences in its format. */
#pragma once

#include "exposure.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ar_hud {

struct SequenceKind {
    std::string name;
    FlightStatistics flight;
    Conditions conditions;
};

/* MH01 to MH05: Burri et al. 2016, table 2. The last two are dark. */
const std::vector<SequenceKind> &sequence_kinds();
/* Throws std::invalid_argument, which lists them, if there is no such one. */
const SequenceKind &sequence_kind(const std::string &name);

/* EuRoC's cameras as they were calibrated, numbers rounded: 752 x 480, 20 Hz, 11 cm apart. */
Camera hall_camera_left();
Camera hall_camera_right();

/*
 * Writes the first `frames` frames of a flight (0: all) to a folder that is not there yet; it
 * appears when it is whole. `progress` is told of each frame: how many are done, and of how many.
 */
void generate_sequence(const SequenceKind &kind, std::uint64_t seed, std::size_t frames,
                       const std::filesystem::path &folder,
                       const std::function<void(std::size_t, std::size_t)> &progress);

} // namespace ar_hud
