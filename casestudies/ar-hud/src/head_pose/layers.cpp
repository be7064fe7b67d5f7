/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "layers.hpp"

#include "../table/table.hpp"

#include <sstream>

namespace ar_hud {

namespace {

constexpr std::size_t name_column = 0, inputs_column = 6;

/* Written as in `1x3x224x224`. */
std::vector<int> shape_of(const TableReader &table, const std::string &text) {
    std::vector<int> shape;
    std::istringstream stream(text);
    int size = 0;
    char by = 'x';
    while (by == 'x' && stream >> size && size > 0) {
        shape.push_back(size);
        by = '\0';
        stream >> by;
    }
    if (shape.empty() || !stream.eof())
        throw InputError(table.place(inputs_column),
                         "expected shapes such as `1x3x224x224`, found `" + text + "`");
    return shape;
}

/* Values as activations have them: some of each sign. */
cv::Mat input_of(const std::vector<int> &shape) {
    cv::Mat values(shape, CV_32F);
    cv::RNG random(1);
    random.fill(values, cv::RNG::NORMAL, 0, 1);
    return values;
}

} // namespace

std::vector<Layer> read_layers(const std::filesystem::path &folder) {
    TableReader table(folder / "layers.csv", Separator::comma, inputs_column + 1);
    std::vector<Layer> layers;
    while (table.next()) {
        const std::string name(table.text(name_column));
        const std::filesystem::path model = folder / (name + ".onnx");
        try {
            Layer layer = {name, cv::dnn::readNetFromONNX(model.string())};
            std::istringstream shapes{std::string(table.text(inputs_column))};
            std::string shape;
            for (int n = 0; shapes >> shape; n++)
                layer.network.setInput(input_of(shape_of(table, shape)),
                                       "input_" + std::to_string(n));
            layer.network.forward();
            layers.push_back(layer);
        } catch (const cv::Exception &error) {
            throw InputError({model}, "is no layer in ONNX with the inputs that "
                                      "layers.csv says (" +
                                          error.err + ")");
        }
    }
    if (layers.empty())
        throw InputError({folder / "layers.csv"}, "has no layers");
    return layers;
}

} // namespace ar_hud
