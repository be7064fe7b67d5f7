/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The table of a sweep, a row a run. It is whole after each run, so that a sweep that was ended goes on
 * where it was. */
#pragma once

#include "sweep.hpp"

#include <filesystem>
#include <map>

namespace ar_hud {

class SweepTable {
  public:
    /*
     * Of the first `frames` frames of the sequence called `sequence`. What the file has, if it is there, is kept.
     * Throws InputError if that is not a table of such a sweep.
     */
    SweepTable(std::filesystem::path file, const std::string &sequence, std::size_t frames);

    /* Runs of seeds 1 to `seeds` that are not in the table, all points of a seed before the next; if
     * `only` names an experiment, those of its points. */
    std::vector<SweepRun> missing(std::uint64_t seeds, const std::string &only = {}) const;
    /* Puts it into the file, too. Throws InputError if that cannot be written. */
    void add(const Outcome &outcome);

  private:
    void read();
    std::size_t point_of(const std::string &name) const;
    std::string name_of(const Point &point) const;

    const std::filesystem::path file;
    const std::string of_sequence; /* what each row begins with */
    const std::vector<Point> points = sweep_points();
    std::map<std::pair<std::uint64_t, std::size_t>, std::string> rows; /* by seed and point */
};

} // namespace ar_hud
