/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* data.csv of the ground truth. */
#include "../input.hpp"
#include "euroc/sequence.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz([&] {
        const auto trajectory = ar_hud::read_ground_truth(write_input("data.csv", data, size));
        expect(!trajectory.empty());
        for (const ar_hud::StampedPose &pose : trajectory)
            expect(pose.world_from_body.matrix().allFinite());
    });
}
