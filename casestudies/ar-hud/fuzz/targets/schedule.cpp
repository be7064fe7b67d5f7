/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Service times. */
#include "engine/schedule.hpp"
#include "../input.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz([&] {
        const ar_hud::Service service =
            ar_hud::read_schedule(write_input("schedule.csv", data, size));
        constexpr std::int64_t hour_ns = 3'600'000'000'000;
        for (std::size_t frame = 0; frame < 100; frame++) {
            const ar_hud::ServiceTimes times = service(frame);
            for (std::int64_t time_ns :
                 {times.front_end_ns, times.mapping_ns, times.optimisation_ns})
                expect(time_ns >= 0 && time_ns <= hour_ns);
        }
    });
}
