/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "layers.hpp"

#include "../input_error.hpp"
#include "layer_table.hpp"

namespace ar_hud {

namespace {

/* Values as activations have them: some of each sign. */
cv::Mat input_of(const std::vector<int> &shape) {
    cv::Mat values(shape, CV_32F);
    cv::RNG random(1);
    random.fill(values, cv::RNG::NORMAL, 0, 1);
    return values;
}

} // namespace

std::vector<Layer> read_layers(const std::filesystem::path &folder) {
    std::vector<Layer> layers;
    for (const LayerRow &row : read_layer_table(folder / "layers.csv")) {
        const std::filesystem::path model = folder / (row.name + ".onnx");
        try {
            Layer layer = {row.name, cv::dnn::readNetFromONNX(model.string())};
            for (std::size_t n = 0; n < row.shapes.size(); n++)
                layer.network.setInput(input_of(row.shapes[n]), "input_" + std::to_string(n));
            layer.network.forward();
            layers.push_back(layer);
        } catch (const cv::Exception &error) {
            throw InputError({model}, "is no layer in ONNX with the inputs that "
                                      "layers.csv says (" +
                                          error.err + ")");
        }
    }
    return layers;
}

} // namespace ar_hud
