/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A smooth flight through the hall, known exactly at every time. */
#pragma once

#include "../trajectory/trajectory.hpp"

#include <cstdint>
#include <vector>

namespace ar_hud {

/* What a flight is like, as the EuRoC data set's table of sequences has it. */
struct FlightStatistics {
    double length_m = 0;
    double duration_s = 0;
    double turn_rate_rad_s = 0; /* mean of the angular speed */
};

class Flight {
  public:
    /* One of those that have these statistics, to a thousandth; another for each seed. */
    Flight(const FlightStatistics &statistics, std::uint64_t seed);

    double duration_s() const {
        return duration;
    }
    /* 0 to duration_s(). World: metres, z up, the origin in the middle of the hall's floor;
     * body: x up, z forward, as the sensor of EuRoC's helicopter. */
    Pose world_from_body(double time_s) const;

    /* As they came out, from 50 steps a second. */
    FlightStatistics measured() const;

  private:
    /* Uniform cubic B-spline: twice continuously differentiable. */
    struct Spline {
        double knot_s = 1; /* between two control points */
        std::vector<Eigen::Vector3d> points;

        Eigen::Vector3d at(double time_s) const;
    };

    double duration;
    Spline position; /* m */
    Spline attitude; /* yaw, pitch and roll, rad */
};

} // namespace ar_hud
