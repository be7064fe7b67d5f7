/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "../input_error.hpp"
#include "sweep.hpp"

#include <cstdio>

namespace ar_hud {

std::vector<Point> sweep_points() {
    std::vector<Point> points;
    const auto add = [&](const char *experiment, const std::vector<double> &values, auto change) {
        for (double value : values) {
            Point point{experiment, value, {}};
            change(point.disturbance, value);
            points.push_back(point);
        }
    };
    add("undisturbed", {0}, [](Disturbance &, double) {});
    add("dropped_share", {0.25, 0.5, 0.75, 0.85},
        [](Disturbance &one, double share) { one.dropped_share = share; });
    add("burst_frames_at_half_dropped", {4, 8, 12, 16, 20}, [](Disturbance &one, double frames) {
        one.dropped_share = 0.5;
        one.burst_frames = frames;
    });
    add("stage_time_factor", {2, 4, 8, 12},
        [](Disturbance &one, double factor) { one.factor = factor; });
    add("mapping_late_frames", {5, 10, 15, 20},
        [](Disturbance &one, double frames) { one.mapping_late_frames = frames; });
    add("optimisation_late_frames", {10, 40},
        [](Disturbance &one, double frames) { one.optimisation_late_frames = frames; });
    add("optimisation_absent", {1}, [](Disturbance &one, double) { one.optimised = false; });
    return points;
}

std::string name_of(const Point &point) {
    char value[32];
    std::snprintf(value, sizeof value, "%g", point.value);
    return point.experiment + "=" + value;
}

Point sweep_point(const std::string &name) {
    std::string all;
    for (const Point &point : sweep_points()) {
        if (name_of(point) == name)
            return point;
        all += (all.empty() ? "" : ", ") + name_of(point);
    }
    throw InputError({name}, "is no point of a sweep; expected one of " + all);
}

} // namespace ar_hud
