/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "sweep_table.hpp"

#include "../table/table.hpp"

#include <cstdio>
#include <fstream>

namespace ar_hud {

namespace {

/* Each with its unit. */
constexpr const char *head =
    "sequence,frames,experiment,value,seed,processed_share,lost_frames,keyframes_refused,failed,"
    "ate_median_m,ate_rmse_m,ate_max_m,stale_median_m,stale_p95_m";
constexpr std::size_t columns = 14;

std::string measured(const Outcome &outcome) {
    const RunErrors &errors = outcome.errors;
    char text[240];
    std::snprintf(text, sizeof text, "%.4f,%zu,%zu,%d,%.4f,%.4f,%.4f,%.4f,%.4f",
                  errors.processed_share, errors.lost, outcome.keyframes_refused, errors.failed,
                  errors.absolute.median, errors.absolute.rmse, errors.absolute.max,
                  errors.stale.median, errors.stale_p95_m);
    return text;
}

std::string joined(const TableReader &table, std::size_t from, std::size_t to) {
    std::string text;
    for (std::size_t column = from; column < to; column++)
        text += (column > from ? "," : "") + std::string(table.text(column));
    return text;
}

} // namespace

SweepTable::SweepTable(std::filesystem::path file, const std::string &sequence, std::size_t frames)
    : file(std::move(file)), of_sequence(sequence + "," + std::to_string(frames)) {
    if (std::filesystem::exists(this->file))
        read();
}

std::string SweepTable::name_of(const Point &point) const {
    char value[32];
    std::snprintf(value, sizeof value, "%g", point.value);
    return point.experiment + "," + value;
}

std::size_t SweepTable::point_of(const std::string &name) const {
    std::size_t n = 0;
    while (n < points.size() && name_of(points[n]) != name)
        n++;
    return n;
}

void SweepTable::read() {
    TableReader table(file, Separator::comma, columns);
    if (!table.next() || joined(table, 0, table.columns()) != head)
        throw InputError({file, 1},
                         std::string("is not a table of a sweep, whose head is ") + head);
    while (table.next()) {
        if (joined(table, 0, 2) != of_sequence)
            throw InputError(table.place(0), "found a run of " + joined(table, 0, 2) +
                                                 ", expected one of " + of_sequence +
                                                 ": give another file for another sweep");
        const std::size_t point = point_of(joined(table, 2, 4));
        if (point == points.size())
            throw InputError(table.place(2), "found " + joined(table, 2, 4) +
                                                 ", which is not a point of this sweep");
        const auto seed = static_cast<std::uint64_t>(table.timestamp_ns(4));
        for (std::size_t column = 5; column < columns; column++)
            table.number(column);
        rows[{seed, point}] = joined(table, 0, columns);
    }
}

std::vector<SweepRun> SweepTable::missing(std::uint64_t seeds, const std::string &only) const {
    std::vector<SweepRun> runs;
    for (std::uint64_t seed = 1; seed <= seeds; seed++)
        for (std::size_t point = 0; point < points.size(); point++)
            if (!rows.count({seed, point}) && (only.empty() || points[point].experiment == only))
                runs.push_back({points[point], seed});
    return runs;
}

void SweepTable::add(const Outcome &outcome) {
    const SweepRun &run = outcome.run;
    const std::string name = name_of(run.point);
    rows[{run.seed, point_of(name)}] =
        of_sequence + "," + name + "," + std::to_string(run.seed) + "," + measured(outcome);
    /* Who is ended while he writes leaves the table as it was. */
    const std::filesystem::path partial = file.string() + ".partial";
    std::ofstream stream(partial);
    stream << head << "\n";
    for (const auto &[key, row] : rows)
        stream << row << "\n";
    stream.close();
    std::error_code error;
    if (stream)
        std::filesystem::rename(partial, file, error);
    if (!stream || error)
        throw InputError({file}, "cannot be written");
}

} // namespace ar_hud
