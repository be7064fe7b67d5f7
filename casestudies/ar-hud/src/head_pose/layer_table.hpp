/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The table of a network's layers that network/make-network writes. */
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ar_hud {

struct LayerRow {
    std::string name;                     /* its file is name.onnx */
    std::vector<std::vector<int>> shapes; /* of its inputs */
};

/* At least one; throws InputError. */
std::vector<LayerRow> read_layer_table(const std::filesystem::path &file);

} // namespace ar_hud
