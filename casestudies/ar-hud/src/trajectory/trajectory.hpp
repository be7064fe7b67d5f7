/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Where a body was, and when. */
#pragma once

#include "../table/table.hpp"

#include <Eigen/Geometry>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace ar_hud {

/* From the coordinates of one frame to those of another: metres, right-handed. */
using Pose = Eigen::Isometry3d;

struct StampedPose {
    std::int64_t timestamp_ns = 0;
    Pose world_from_body = Pose::Identity();
};

/* In the order of time, without two poses at one time. */
using Trajectory = std::vector<StampedPose>;

/* A position and a quaternion in the seven columns from `column` on; throws InputError. */
enum class QuaternionOrder { w_first, w_last };
Pose read_pose(const TableReader &table, std::size_t column, QuaternionOrder order);

/* TUM's format, which `evo` reads and writes: "seconds x y z qx qy qz qw", times to the
 * nanosecond, lengths to the micrometre.
 * Both throw InputError. */
Trajectory read_tum(const std::filesystem::path &file);
void write_tum(const std::filesystem::path &file, const Trajectory &trajectory);

} // namespace ar_hud
