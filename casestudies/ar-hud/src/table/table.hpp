/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Tables in text, of EuRoC's and of TUM's format: '#' begins a comment line. */
#pragma once

#include "../input_error.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ar_hud {

enum class Separator { comma, blanks };

class TableReader {
  public:
    /* Throws InputError if the file cannot be read. */
    TableReader(std::filesystem::path file, Separator separator, std::size_t columns_min);

    /* Goes to the next row that is neither empty nor a comment; false at the end of the file.
     * Throws InputError if it has fewer columns than it must. */
    bool next();

    std::size_t columns() const {
        return fields.size();
    }
    /* Throws InputError if the row has fewer. */
    void expect_columns(std::size_t least) const;

    /* Of the row, by column from 0; each throws InputError if that is not what stands there. */
    std::int64_t timestamp_ns(std::size_t column) const;         /* written in nanoseconds */
    std::int64_t timestamp_of_seconds(std::size_t column) const; /* in seconds with decimals */
    double number(std::size_t column) const;
    std::string_view text(std::size_t column) const;

    Place place(std::size_t column) const;
    /* Throws InputError unless a row's time, in column 0, is later than that of the row before. */
    void expect_later(std::int64_t timestamp_ns);

  private:
    void split();
    void add_field(std::size_t begin, std::size_t end);

    std::filesystem::path file;
    std::ifstream stream;
    Separator separator;
    std::size_t columns_min;
    std::string line;
    std::size_t line_number = 0;
    /* Of each field in the line: where it begins, and its bytes without blanks around. */
    std::vector<std::pair<std::size_t, std::size_t>> fields;
    std::optional<std::int64_t> before_ns;
};

} // namespace ar_hud
