/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The layers of a network, each as a network of its own: what one of them takes. */
#pragma once

#include <filesystem>
#include <opencv2/dnn.hpp>
#include <string>
#include <vector>

namespace ar_hud {

struct Layer {
    std::string name;
    cv::dnn::Net network;
};

/* Those of a folder that network/make-network has written, in the order of its `layers.csv`, each with
 * its input set; each has run once, so that it has the memory it needs. Throws InputError if a file is missing or is no network. */
std::vector<Layer> read_layers(const std::filesystem::path &folder);

} // namespace ar_hud
