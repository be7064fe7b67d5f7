/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "schedule.hpp"

#include "../table/table.hpp"

#include <map>
#include <memory>
#include <optional>

namespace ar_hud {

namespace {

constexpr std::size_t columns = 4;
/* An hour: late enough for "never", and all of a sequence's can be added. */
constexpr std::int64_t service_max_ns = 3'600'000'000'000;

std::int64_t service_ns(const TableReader &table, std::size_t column) {
    const std::int64_t time_ns = table.timestamp_ns(column);
    if (time_ns > service_max_ns)
        throw InputError(table.place(column),
                         "found " + std::to_string(time_ns) +
                             " ns, expected a service time of at most an hour");
    return time_ns;
}

ServiceTimes read_row(const TableReader &table) {
    ServiceTimes times;
    if (table.columns() >= 2 && table.text(1) == "dropped") {
        times.dropped = true;
        return times;
    }
    table.expect_columns(columns);
    times.front_end_ns = service_ns(table, 1);
    times.mapping_ns = service_ns(table, 2);
    times.optimised = table.text(3) != "none";
    if (times.optimised)
        times.optimisation_ns = service_ns(table, 3);
    return times;
}

} // namespace

Service read_schedule(const std::filesystem::path &file) {
    TableReader table(file, Separator::comma, 2);
    const auto rows = std::make_shared<std::map<std::size_t, ServiceTimes>>();
    while (table.next()) {
        const std::int64_t frame = table.timestamp_ns(0);
        if (!rows->empty() && static_cast<std::size_t>(frame) <= rows->rbegin()->first)
            throw InputError(table.place(0), "found frame " + std::to_string(frame) +
                                                 ", expected a later one than in the row above");
        (*rows)[static_cast<std::size_t>(frame)] = read_row(table);
    }
    return [rows](std::size_t frame) {
        const auto row = rows->find(frame);
        return row == rows->end() ? ServiceTimes() : row->second;
    };
}

} // namespace ar_hud
