/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A trajectory in TUM's format; what was read is written and read again. */
#include "trajectory/trajectory.hpp"
#include "../input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz([&] {
        const auto trajectory = ar_hud::read_tum(write_input("read.tum", data, size));
        const auto written = input_folder() / "written.tum";
        ar_hud::write_tum(written, trajectory);
        const auto again = ar_hud::read_tum(written);
        expect(again.size() == trajectory.size());
        for (std::size_t n = 0; n < again.size(); n++)
            expect(again[n].timestamp_ns == trajectory[n].timestamp_ns);
    });
}
