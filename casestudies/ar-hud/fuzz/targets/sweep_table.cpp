/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The table of a sweep that goes on. */
#include "sweep/sweep_table.hpp"
#include "../input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz([&] {
        const ar_hud::SweepTable table(write_input("sweep.csv", data, size), "clip", 20);
        expect(table.missing(2).size() <= 2 * ar_hud::sweep_points().size());
    });
}
