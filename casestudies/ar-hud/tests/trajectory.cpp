/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "trajectory/trajectory.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

using namespace ar_hud;
using Catch::Contains;

TEST_CASE("a trajectory is read as it was written, to the nanosecond and the micrometre") {
    const TemporaryFolder temporary;
    const auto file = temporary.path / "t.tum";
    Trajectory trajectory = {{0}, {1}, {1'403'636'580'838'555'574}, {3'999'999'999'999'999'999}};
    trajectory[2].world_from_body.translation() = Eigen::Vector3d(1, -2, 1.0 / 3);
    trajectory[2].world_from_body.rotate(Eigen::AngleAxisd(2, Eigen::Vector3d::UnitY()));
    write_tum(file, trajectory);
    const Trajectory read = read_tum(file);
    REQUIRE(read.size() == trajectory.size());
    for (std::size_t n = 0; n < read.size(); n++) {
        CHECK(read[n].timestamp_ns == trajectory[n].timestamp_ns);
        const Pose &pose = read[n].world_from_body, &written = trajectory[n].world_from_body;
        CHECK((pose.translation() - written.translation()).cwiseAbs().maxCoeff() < 0.501e-6);
        CHECK(pose.linear().isApprox(written.linear(), 2e-6));
    }
    write_text(file, "# empty\n");
    CHECK(read_tum(file).empty());
}

TEST_CASE("what is wrong with a trajectory is said with its place") {
    const TemporaryFolder temporary;
    const std::pair<const char *, const char *> cases[] = {
        {"1 0 0 0 0 0 0\n", "t.tum:1:14: found 7 columns, expected at least 8"},
        {"2 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n", "t.tum:2:1: this time is before that of the row"},
        {"2 0 0 0 0 0 0 1\n2.0 0 0 0 0 0 0 1\n", "t.tum:2:1: this time stands in the row above"},
        {"1 0 0 0 0 0 1 1\n", "t.tum:1:9: the quaternion's norm is 1.41"},
        {"1 0 inf 0 0 0 0 1\n", "t.tum:1:5: found 'inf', expected a number"},
        {"1e9 0 0 0 0 0 0 1\n", "t.tum:1:1: found '1e9', expected seconds"},
        {"9999999999 0 0 0 0 0 0 1\n", "t.tum:1:1: found '9999999999', expected less than 4e9 s"},
    };
    for (const auto &[text, what] : cases) {
        write_text(temporary.path / "t.tum", text);
        CHECK_THROWS_WITH(read_tum(temporary.path / "t.tum"), Contains(what));
    }
    CHECK_THROWS_WITH(read_tum(temporary.path / "none.tum"), Contains("none.tum: cannot be read"));
    CHECK_THROWS_WITH(write_tum(temporary.path / "no/t.tum", {}), Contains("cannot be written"));
}
