/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "engine/schedule.hpp"
#include "engine/disturbance.hpp"
#include "input_error.hpp"
#include "temporary_folder.hpp"

#include <catch2/catch.hpp>

using namespace ar_hud;
using Catch::Contains;

TEST_CASE("a schedule has its rows' times, and none for other frames") {
    const TemporaryFolder temporary;
    write_text(temporary.path / "s.csv", "# frame, front_end_ns, mapping_ns, optimisation_ns\n"
                                         "0, 4000000, 5000000, 12000000\n"
                                         "1, dropped\n"
                                         "7, 1, 2, none\n");
    const Service service = read_schedule(temporary.path / "s.csv");
    CHECK(service(0).front_end_ns == 4'000'000);
    CHECK(service(0).mapping_ns == 5'000'000);
    CHECK(service(0).optimisation_ns == 12'000'000);
    CHECK(service(0).optimised);
    CHECK(service(1).dropped);
    CHECK_FALSE(service(2).dropped);
    CHECK(service(2).front_end_ns == 0);
    CHECK_FALSE(service(7).optimised);
}

TEST_CASE("what is wrong with a schedule is said with its place") {
    const TemporaryFolder temporary;
    const std::pair<const char *, const char *> cases[] = {
        {"0, 1, 2\n", "s.csv:1:8: found 3 columns, expected at least 4"},
        {"0\n", "s.csv:1:2: found 1 columns"},
        {"3, dropped\n3, dropped\n", "s.csv:2:1: found frame 3, expected a later one"},
        {"0, -1, 2, 3\n", "s.csv:1:4: found '-1'"},
        {"0, 1, 2, never\n", "s.csv:1:10: found 'never'"},
        {"0, 1, 3600000000001, 3\n", "s.csv:1:7: found 3600000000001 ns, expected a service time"},
        {"x, dropped\n", "s.csv:1:1: found 'x'"},
    };
    for (const auto &[text, what] : cases) {
        write_text(temporary.path / "s.csv", text);
        CHECK_THROWS_WITH(read_schedule(temporary.path / "s.csv"), Contains(what));
    }
    CHECK_THROWS_AS(read_schedule(temporary.path / "none.csv"), InputError);
}

TEST_CASE("frames are dropped in the share and in the bursts that were asked for") {
    constexpr std::size_t frames = 40'000;
    for (double share : {0.0, 0.25, 0.85})
        for (double burst : {1.0, 4.0, 12.0}) {
            CAPTURE(share, burst);
            Disturbance disturbance;
            disturbance.dropped_share = share;
            disturbance.burst_frames = burst;
            const Service service = disturbed(disturbance, frames, 3);
            std::size_t dropped = 0, bursts = 0;
            for (std::size_t frame = 1; frame < frames; frame++) {
                dropped += service(frame).dropped;
                bursts += service(frame).dropped && !service(frame - 1).dropped;
            }
            CHECK(double(dropped) / frames == Approx(share).margin(0.02));
            /* Each for itself, they come in bursts of 1 / (1 - share). */
            if (share > 0)
                CHECK(double(dropped) / double(bursts) ==
                      Approx(burst > 1 ? std::max(burst, share / (1 - share)) : 1 / (1 - share))
                          .epsilon(0.1));
            CHECK_FALSE(service(0).dropped);
        }
}

TEST_CASE("times vary about what was asked for, the same for a seed") {
    Disturbance disturbance;
    disturbance.factor = 3;
    disturbance.mapping_late_frames = 10;
    const Service service = disturbed(disturbance, 20'000, 5);
    double front_end_ms = 0, mapping_ms = 0;
    for (std::size_t frame = 0; frame < 20'000; frame++) {
        front_end_ms += double(service(frame).front_end_ns) / 1e6 / 20'000;
        mapping_ms += double(service(frame).mapping_ns) / 1e6 / 20'000;
    }
    /* The mean of a lognormal is above its median. */
    const double above = std::exp(0.2 * 0.2 / 2);
    CHECK(front_end_ms == Approx(12 * above).epsilon(0.02));
    CHECK(mapping_ms == Approx(500 + 15 * above).epsilon(0.02));
    CHECK(disturbed(disturbance, 20'000, 5)(777).front_end_ns == service(777).front_end_ns);
    CHECK(disturbed(disturbance, 20'000, 6)(777).front_end_ns != service(777).front_end_ns);
}
