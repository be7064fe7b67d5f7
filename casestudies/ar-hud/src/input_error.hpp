/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What is wrong with a file that somebody gave us. */
#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace ar_hud {

/* A place in a file; lines and columns count from 1, 0 is "the file as a whole". */
struct Place {
    std::filesystem::path file;
    std::size_t line = 0;
    std::size_t column = 0;

    std::string text() const;
};

/* Prints as "file:line:column: what was found, what was expected". */
class InputError : public std::runtime_error {
  public:
    InputError(const Place &place, const std::string &what)
        : std::runtime_error(place.text() + ": " + what) {
    }
};

} // namespace ar_hud
