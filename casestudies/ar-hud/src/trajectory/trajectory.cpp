/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "trajectory.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <memory>

namespace ar_hud {

Pose read_pose(const TableReader &table, std::size_t column, QuaternionOrder order) {
    const auto number = [&](std::size_t n) { return table.number(column + n); };
    const bool w_first = order == QuaternionOrder::w_first;
    const std::size_t w = w_first ? 3 : 6, x = w_first ? 4 : 3;
    const Eigen::Quaterniond turn(number(w), number(x), number(x + 1), number(x + 2));
    /* Data sets have some six digits: a norm further from 1 than that is no rounding. */
    if (!(std::abs(turn.norm() - 1) < 1e-3))
        throw InputError(table.place(column + 3),
                         "the quaternion's norm is " + std::to_string(turn.norm()) +
                             ", expected 1 with the order " + (w_first ? "w x y z" : "x y z w"));
    Pose pose = Pose::Identity();
    pose.linear() = turn.normalized().toRotationMatrix();
    pose.translation() << number(0), number(1), number(2);
    return pose;
}

Trajectory read_tum(const std::filesystem::path &file) {
    TableReader table(file, Separator::blanks, 8);
    Trajectory trajectory;
    while (table.next()) {
        const std::int64_t timestamp_ns = table.timestamp_of_seconds(0);
        table.expect_later(timestamp_ns);
        trajectory.push_back({timestamp_ns, read_pose(table, 1, QuaternionOrder::w_last)});
    }
    return trajectory;
}

void write_tum(const std::filesystem::path &file, const Trajectory &trajectory) {
    auto close = [](std::FILE *open) {
        if (open)
            std::fclose(open);
    };
    std::unique_ptr<std::FILE, decltype(close)> out(std::fopen(file.c_str(), "w"), close);
    if (!out)
        throw InputError({file}, "cannot be written");
    for (const StampedPose &pose : trajectory) {
        const Eigen::Vector3d position = pose.world_from_body.translation();
        const Eigen::Quaterniond turn(pose.world_from_body.linear());
        std::fprintf(out.get(), "%" PRId64 ".%09" PRId64 " %.6f %.6f %.6f %.6f %.6f %.6f %.6f\n",
                     pose.timestamp_ns / 1'000'000'000, pose.timestamp_ns % 1'000'000'000,
                     position.x(), position.y(), position.z(), turn.x(), turn.y(), turn.z(),
                     turn.w());
    }
    if (std::fflush(out.get()) != 0 || std::ferror(out.get()))
        throw InputError({file}, "cannot be written to its end; is the disk full?");
}

} // namespace ar_hud
