/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The hall, in metres: x and y from -half to +half, z from the floor at 0 up. Flights and machines
 * share it: machines stand at the walls or are low, flights keep to the middle.
 */
#pragma once

namespace ar_hud {

constexpr double hall_half_x_m = 10;
constexpr double hall_half_y_m = 7;
constexpr double hall_height_m = 6;

/* Machines reach this far from a wall at most, or this high from the floor, or hang this low. */
constexpr double machine_depth_m = 2.2;
constexpr double machine_low_m = 1.1;
constexpr double crane_low_m = 5;

/* What flights keep from the walls, and their heights. */
constexpr double flight_margin_m = 3;
constexpr double flight_low_m = 1.5;
constexpr double flight_high_m = 4.6;

} // namespace ar_hud
