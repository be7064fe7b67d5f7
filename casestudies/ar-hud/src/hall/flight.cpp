/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "flight.hpp"

#include "../random.hpp"
#include "room.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ar_hud {

namespace {

constexpr double measure_step_s = 0.02;

/* A corner of the way every so many metres. */
constexpr double way_step_m = 1.3;
/* What is left of that for the exact length, which stretches the way about its middle. */
constexpr double stretch_max = 1.3;
constexpr double way_half_x_m = (hall_half_x_m - flight_margin_m) / stretch_max;
constexpr double way_half_y_m = (hall_half_y_m - flight_margin_m) / stretch_max;
constexpr double way_middle_z_m = (flight_low_m + flight_high_m) / 2;
constexpr double way_half_z_m = (flight_high_m - flight_low_m) / 2 / stretch_max;

/* Turns an offset that goes beyond ±half back inside, as a mirror does. */
double mirrored(double value, double half) {
    const double folded = std::fmod(std::abs(value + half), 4 * half);
    return (folded < 2 * half ? folded : 4 * half - folded) - half;
}

/* Corners relative to the middle of the way: a walk that turns a little at each step. */
std::vector<Eigen::Vector3d> random_way(std::size_t corners, Random &random) {
    std::vector<Eigen::Vector3d> way;
    Eigen::Vector3d free(random.uniform(-1, 1) * way_half_x_m, random.uniform(-1, 1) * way_half_y_m,
                         random.uniform(-1, 1));
    double heading = random.uniform(-M_PI, M_PI);
    for (std::size_t n = 0; n < corners; n++) {
        way.emplace_back(mirrored(free.x(), way_half_x_m), mirrored(free.y(), way_half_y_m),
                         mirrored(free.z(), way_half_z_m));
        heading += 0.4 * random.normal();
        const double step_m = way_step_m * random.uniform(0.5, 1.5);
        free +=
            step_m * Eigen::Vector3d(std::cos(heading), std::sin(heading), 0.25 * random.normal());
    }
    return way;
}

/* Yaw wanders, pitch and roll sway about level; to be stretched to the wanted turn rate. */
std::vector<Eigen::Vector3d> random_attitude(std::size_t corners, Random &random) {
    std::vector<Eigen::Vector3d> attitude;
    double yaw = 0, yaw_step = 0;
    for (std::size_t n = 0; n < corners; n++) {
        attitude.emplace_back(yaw, 0.12 * random.normal(), 0.12 * random.normal());
        yaw_step = 0.7 * yaw_step + 0.25 * random.normal();
        yaw += yaw_step;
    }
    return attitude;
}

std::size_t corners_of(double duration_s, double knot_s) {
    return static_cast<std::size_t>(std::ceil(duration_s / knot_s)) + 4;
}

/* The argument in [low, high] at which an increasing function has a value. */
template <typename Function>
double solve(Function function, double value, double low, double high) {
    if (function(low) > value || function(high) < value)
        throw std::invalid_argument("no flight has these statistics in this hall");
    for (int n = 0; n < 30; n++) {
        const double middle = (low + high) / 2;
        (function(middle) < value ? low : high) = middle;
    }
    return (low + high) / 2;
}

std::vector<Eigen::Vector3d> stretched(std::vector<Eigen::Vector3d> points, double factor) {
    for (Eigen::Vector3d &point : points)
        point *= factor;
    return points;
}

} // namespace

Flight::Flight(const FlightStatistics &wanted, std::uint64_t seed) : duration(wanted.duration_s) {
    Random way_random(seed, 1), attitude_random(seed, 2);
    position.knot_s = wanted.duration_s * way_step_m / wanted.length_m;
    const auto way = random_way(corners_of(duration, position.knot_s), way_random);
    attitude.knot_s = 1.2;
    const auto sway = random_attitude(corners_of(duration, attitude.knot_s), attitude_random);

    attitude.points = sway;
    const auto length_of = [&](double stretch) {
        position.points = stretched(way, stretch);
        return measured().length_m;
    };
    length_of(solve(length_of, wanted.length_m, 0.5, stretch_max));
    const auto turn_rate_of = [&](double stretch) {
        attitude.points = stretched(sway, stretch);
        return measured().turn_rate_rad_s;
    };
    turn_rate_of(solve(turn_rate_of, wanted.turn_rate_rad_s, 0.05, 4));
}

Eigen::Vector3d Flight::Spline::at(double time_s) const {
    const double knots = std::max(time_s, 0.0) / knot_s;
    const std::size_t first = std::min(static_cast<std::size_t>(knots), points.size() - 4);
    const double u = knots - static_cast<double>(first);
    const double v = 1 - u;
    const double w0 = v * v * v / 6, w3 = u * u * u / 6;
    const double w1 = (4 - 6 * u * u + 3 * u * u * u) / 6;
    const double w2 = (4 - 6 * v * v + 3 * v * v * v) / 6;
    return w0 * points[first] + w1 * points[first + 1] + w2 * points[first + 2] +
           w3 * points[first + 3];
}

Pose Flight::world_from_body(double time_s) const {
    const Eigen::Vector3d turn = attitude.at(time_s);
    Eigen::Matrix3d level; /* columns: up, right and forward when looking along the world's x */
    level << 0, 0, 1, 0, -1, 0, 1, 0, 0;
    Pose pose = Pose::Identity();
    pose.linear() = (Eigen::AngleAxisd(turn[0], Eigen::Vector3d::UnitZ()) *
                     Eigen::AngleAxisd(turn[1], Eigen::Vector3d::UnitY()) *
                     Eigen::AngleAxisd(turn[2], Eigen::Vector3d::UnitX()))
                        .toRotationMatrix() *
                    level;
    pose.translation() = position.at(time_s) + Eigen::Vector3d(0, 0, way_middle_z_m);
    return pose;
}

FlightStatistics Flight::measured() const {
    FlightStatistics sum;
    sum.duration_s = duration;
    const int steps = static_cast<int>(std::round(duration / measure_step_s));
    Pose before = world_from_body(0);
    for (int n = 1; n <= steps; n++) {
        const Pose now = world_from_body(n * measure_step_s);
        sum.length_m += (now.translation() - before.translation()).norm();
        sum.turn_rate_rad_s +=
            Eigen::Quaterniond(before.linear()).angularDistance(Eigen::Quaterniond(now.linear()));
        before = now;
    }
    sum.turn_rate_rad_s /= duration;
    return sum;
}

} // namespace ar_hud
