/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Jobs of stages as files: written by one program, read by one that does nothing else. */
#pragma once

#include "../input_error.hpp"
#include "stage_job.hpp"

namespace ar_hud {

/* Both throw InputError. */
void write_stage_job(const std::filesystem::path &file, const StageJob &job);
StageJob read_stage_job(const std::filesystem::path &file);

} // namespace ar_hud
