/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The table of a network's layers. */
#include "../input.hpp"
#include "head_pose/layer_table.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    return fuzz([&] {
        for (const ar_hud::LayerRow &row :
             ar_hud::read_layer_table(write_input("layers.csv", data, size)))
            for (const std::vector<int> &shape : row.shapes) {
                expect(!shape.empty());
                for (int side : shape)
                    expect(side > 0);
            }
    });
}
