/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "sweep/sweep_table.hpp"
#include "input_error.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>
#include <fstream>

using namespace ar_hud;

TEST_CASE("a sweep that was ended goes on with what is missing") {
    const TemporaryFolder folder;
    const auto file = folder.path / "sweep.csv";
    const std::size_t points = sweep_points().size();
    {
        SweepTable table(file, "clip", 20);
        const auto all = table.missing(2);
        REQUIRE(all.size() == 2 * points);
        CHECK(table.missing(3, "mapping_late_frames").size() == 3 * 4);
        CHECK(all[points - 1].seed == 1); /* all points of one seed first */
        CHECK(all[points].seed == 2);
        table.add({all[3], {}, 0});
        table.add({all[0], {}, 0});
    }
    SweepTable again(file, "clip", 20);
    const auto missing = again.missing(1);
    REQUIRE(missing.size() == points - 2);
    CHECK(missing[0].point.experiment == sweep_points()[1].experiment);
    for (const SweepRun &run : missing)
        again.add({run, {}, 0});
    CHECK(SweepTable(file, "clip", 20).missing(1).empty());
}

TEST_CASE("a point is found by its name, and what is none is told all that are") {
    for (const Point &point : sweep_points()) {
        const Point found = sweep_point(name_of(point));
        CHECK(found.experiment == point.experiment);
        CHECK(found.value == point.value);
    }
    CHECK(sweep_point("dropped_share=0.25").disturbance.dropped_share == 0.25);
    CHECK_THROWS_WITH(sweep_point("dropped_share=0.2"),
                      Catch::Contains("expected one of undisturbed=0, "));
}

TEST_CASE("a table of another sweep is refused, with file and line") {
    const TemporaryFolder folder;
    const auto file = folder.path / "sweep.csv";
    SweepTable table(file, "clip", 20);
    table.add({table.missing(1)[0], {}, 0});
    CHECK_THROWS_WITH(SweepTable(file, "clip", 21),
                      Catch::Contains("sweep.csv:2:1") && Catch::Contains("clip,20"));
    std::ofstream(file, std::ios::app) << "clip,20,winter,1,1,1,0,0,0,0,0,0,0,0\n";
    CHECK_THROWS_WITH(SweepTable(file, "clip", 20),
                      Catch::Contains("sweep.csv:3:") && Catch::Contains("winter"));
    std::ofstream(file) << "a,b\n";
    CHECK_THROWS_AS(SweepTable(file, "clip", 20), InputError);
}
