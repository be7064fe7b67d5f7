/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "report.hpp"

#include "../input_error.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace ar_hud {

TrajectoryErrors evaluate(const Trajectory &estimated, const Trajectory &truth, std::size_t step,
                          const std::filesystem::path &estimate) {
    const auto pairs = associate(estimated, truth);
    if (pairs.size() < 3)
        throw InputError({estimate}, "only " + std::to_string(pairs.size()) + " of its " +
                                         std::to_string(estimated.size()) +
                                         " poses are within 10 ms of a true one, and an alignment "
                                         "needs three; are they of the same sequence?");
    TrajectoryErrors errors;
    errors.estimated = estimated.size();
    errors.step = step;
    errors.absolute = statistics(absolute_errors(pairs, align(pairs)));
    std::vector<double> relative, relative_turn;
    for (const RelativeError &error : relative_errors(pairs, step)) {
        relative.push_back(error.translation);
        relative_turn.push_back(error.rotation);
    }
    errors.relative = statistics(relative);
    errors.relative_turn = statistics(relative_turn);
    return errors;
}

namespace {

std::string line(const char *name, const Statistics &statistics, const char *unit) {
    char text[160];
    std::snprintf(text, sizeof text, "%-28s %10.4f %10.4f %10.4f %10.4f  %s\n", name,
                  statistics.median, statistics.rmse, statistics.mean, statistics.max, unit);
    return text;
}

nlohmann::ordered_json json_of(const Statistics &statistics, const std::string &unit) {
    return {{"count", statistics.count},
            {"median_" + unit, statistics.median},
            {"rmse_" + unit, statistics.rmse},
            {"mean_" + unit, statistics.mean},
            {"max_" + unit, statistics.max}};
}

} // namespace

std::string text_of(const TrajectoryErrors &errors) {
    char head[160];
    std::snprintf(head, sizeof head,
                  "%zu poses, %zu of them near a true one\n%-28s %10s %10s %10s %10s\n",
                  errors.estimated, errors.absolute.count, "", "median", "rmse", "mean", "max");
    const std::string step = " over " + std::to_string(errors.step) + " poses";
    return head + line("absolute error (ATE)", errors.absolute, "m") +
           line(("relative error" + step).c_str(), errors.relative, "m") +
           line(("turn" + step).c_str(), errors.relative_turn, "rad");
}

std::string json_of(const TrajectoryErrors &errors) {
    const nlohmann::ordered_json json = {{"version", 1},
                                         {"poses", errors.estimated},
                                         {"absolute_error", json_of(errors.absolute, "m")},
                                         {"relative_step_poses", errors.step},
                                         {"relative_error", json_of(errors.relative, "m")},
                                         {"relative_turn", json_of(errors.relative_turn, "rad")}};
    return json.dump(2) + "\n";
}

} // namespace ar_hud
