/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "layer_table.hpp"

#include "../table/table.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace ar_hud {

namespace {

constexpr std::size_t name_column = 0, inputs_column = 6;
constexpr std::size_t dimensions_max = 8;
constexpr long values_max = 1 << 28;

/* Written as in `1x3x224x224`. */
std::vector<int> shape_of(const TableReader &table, const std::string &text) {
    std::vector<int> shape;
    long values = 1;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('x', begin), text.size());
        int side = 0;
        const auto [stopped, error] = std::from_chars(text.data() + begin, text.data() + end, side);
        if (error != std::errc() || stopped != text.data() + end || side <= 0)
            throw InputError(table.place(inputs_column),
                             "expected shapes such as `1x3x224x224`, found `" + text + "`");
        shape.push_back(side);
        values = std::min(values * side, values_max + 1);
        begin = end + 1;
    }
    if (shape.size() > dimensions_max || values > values_max)
        throw InputError(table.place(inputs_column),
                         "found the shape `" + text +
                             "`, expected at most 8 dimensions and 2^28 values");
    return shape;
}

} // namespace

std::vector<LayerRow> read_layer_table(const std::filesystem::path &file) {
    TableReader table(file, Separator::comma, inputs_column + 1);
    std::vector<LayerRow> rows;
    while (table.next()) {
        LayerRow row{std::string(table.text(name_column)), {}};
        if (row.name.empty() || std::filesystem::path(row.name).filename() != row.name)
            throw InputError(table.place(name_column),
                             "expected the name of a layer, whose file is beside the table");
        std::istringstream shapes{std::string(table.text(inputs_column))};
        for (std::string shape; shapes >> shape;)
            row.shapes.push_back(shape_of(table, shape));
        rows.push_back(row);
    }
    if (rows.empty())
        throw InputError({file}, "has no layers");
    return rows;
}

} // namespace ar_hud
