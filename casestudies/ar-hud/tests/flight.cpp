/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "hall/flight.hpp"

#include "hall/room.hpp"
#include "hall/sequences.hpp"

#include <catch2/catch.hpp>

using namespace ar_hud;

TEST_CASE("flights are as long and turn as fast as EuRoC's, and keep away from the walls") {
    for (const SequenceKind &kind : sequence_kinds())
        for (std::uint64_t seed = 0; seed < 6; seed++) {
            CAPTURE(kind.name, seed);
            const Flight flight(kind.flight, seed);
            const FlightStatistics measured = flight.measured();
            CHECK(measured.length_m == Approx(kind.flight.length_m).epsilon(1e-3));
            CHECK(measured.turn_rate_rad_s == Approx(kind.flight.turn_rate_rad_s).epsilon(1e-3));
            for (double time_s = 0; time_s <= kind.flight.duration_s; time_s += 0.1) {
                const Eigen::Vector3d at = flight.world_from_body(time_s).translation();
                REQUIRE(std::abs(at.x()) <= hall_half_x_m - flight_margin_m);
                REQUIRE(std::abs(at.y()) <= hall_half_y_m - flight_margin_m);
                REQUIRE(at.z() >= flight_low_m);
                REQUIRE(at.z() <= flight_high_m);
            }
        }
}

TEST_CASE("flights are smooth") {
    const SequenceKind &kind = sequence_kind("MH03");
    const Flight flight(kind.flight, 5);
    constexpr double step_s = 1e-3;
    for (double time_s = step_s; time_s < kind.flight.duration_s; time_s += 0.037) {
        const Eigen::Vector3d bend = flight.world_from_body(time_s + step_s).translation() -
                                     2 * flight.world_from_body(time_s).translation() +
                                     flight.world_from_body(time_s - step_s).translation();
        /* A helicopter's acceleration; a corner would be 1 m/s in a millisecond. */
        REQUIRE((bend / (step_s * step_s)).norm() < 6);
    }
}

TEST_CASE("a seed is a flight") {
    const FlightStatistics &statistics = sequence_kind("MH01").flight;
    const Pose first = Flight(statistics, 7).world_from_body(60);
    CHECK(first.isApprox(Flight(statistics, 7).world_from_body(60), 0));
    CHECK_FALSE(first.isApprox(Flight(statistics, 8).world_from_body(60), 1e-2));
}
