/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Writes what sequence.hpp reads. */
#pragma once

#include "sequence.hpp"

#include <fstream>

namespace ar_hud {

class SequenceWriter {
  public:
    /* The folder must not exist; until finish() what is written is in FOLDER.partial, which a
     * writer of the same folder replaces. Everything here throws InputError. */
    SequenceWriter(const std::filesystem::path &folder, const Camera &left, const Camera &right);

    /* In the order of time. */
    void add(std::int64_t timestamp_ns, const StereoImages &images);
    void finish(const Trajectory &ground_truth);

  private:
    std::filesystem::path folder, partial;
    std::ofstream tables[2];
};

} // namespace ar_hud
