/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "input_error.hpp"

namespace ar_hud {

std::string Place::text() const {
    std::string text = file.string();
    if (line != 0)
        text += ":" + std::to_string(line);
    if (line != 0 && column != 0)
        text += ":" + std::to_string(column);
    return text;
}

} // namespace ar_hud
