/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Service times from a file: what somebody else, a simulator say, has found the stages to take. */
#pragma once

#include "service.hpp"

#include <filesystem>

namespace ar_hud {

/*
 * A table with a row a frame, in the order of frames:
 *
 *     # frame, front_end_ns, mapping_ns, optimisation_ns
 *     0, 4000000, 5000000, 12000000
 *     1, dropped
 *     2, 4000000, 5000000, none
 *
 * Times of mapping and optimisation are for the keyframe that the frame may become. "dropped" frames
 * are never seen; with "none" there is no optimisation. Frames without a row take no time,
 * those with one at most an hour for each stage.
 *
 * Throws InputError.
 */
Service read_schedule(const std::filesystem::path &file);

} // namespace ar_hud
