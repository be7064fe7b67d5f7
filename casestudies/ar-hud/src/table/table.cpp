/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "table.hpp"

#include <charconv>
#include <cmath>

namespace ar_hud {

namespace {

constexpr std::string_view blanks = " \t\r";
/* In the year 2096; two such times can still be added. */
constexpr std::int64_t time_max_ns = 4'000'000'000'000'000'000;

/* Long fields are no use in a message. */
std::string shown(std::string_view text) {
    constexpr std::size_t most = 40;
    std::string quoted = "'";
    for (char c : text.substr(0, most))
        quoted += c >= ' ' && c <= '~' ? c : '?';
    return quoted + (text.size() > most ? "...'" : "'");
}

} // namespace

TableReader::TableReader(std::filesystem::path file, Separator separator, std::size_t columns_min)
    : file(std::move(file)), stream(this->file), separator(separator), columns_min(columns_min) {
    if (!stream || std::filesystem::is_directory(this->file))
        throw InputError({this->file}, "cannot be read; expected a table");
}

bool TableReader::next() {
    while (std::getline(stream, line)) {
        line_number++;
        std::size_t begin = line.find_first_not_of(blanks);
        if (begin == std::string::npos || line[begin] == '#')
            continue;
        split();
        expect_columns(columns_min);
        return true;
    }
    if (stream.bad())
        throw InputError({file, line_number + 1}, "cannot be read any further");
    return false;
}

void TableReader::expect_columns(std::size_t least) const {
    if (fields.size() < least)
        throw InputError({file, line_number, line.size() + 1},
                         "found " + std::to_string(fields.size()) + " columns, expected at least " +
                             std::to_string(least));
}

void TableReader::add_field(std::size_t begin, std::size_t end) {
    const std::string_view field = std::string_view(line).substr(begin, end - begin);
    const std::size_t first = field.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        fields.emplace_back(end, 0);
    else
        fields.emplace_back(begin + first, field.find_last_not_of(blanks) + 1 - first);
}

void TableReader::split() {
    fields.clear();
    const std::string_view separators = separator == Separator::comma ? "," : blanks;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = std::min(line.find_first_of(separators, begin), line.size());
        /* Blanks in a row are one, also at both ends. */
        if (separator == Separator::comma || end > begin)
            add_field(begin, end);
        if (end == line.size())
            return;
        begin = end + 1;
    }
}

std::string_view TableReader::text(std::size_t column) const {
    auto [begin, size] = fields.at(column);
    return std::string_view(line).substr(begin, size);
}

Place TableReader::place(std::size_t column) const {
    return {file, line_number, fields.at(column).first + 1};
}

std::int64_t TableReader::timestamp_ns(std::size_t column) const {
    std::string_view field = text(column);
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || value < 0 ||
        value > time_max_ns)
        throw InputError(place(column), "found " + shown(field) +
                                            ", expected a time in whole nanoseconds, 0 to 4e18");
    return value;
}

/* To the nanosecond, which a double of today's seconds since 1970 does not resolve. */
std::int64_t TableReader::timestamp_of_seconds(std::size_t column) const {
    constexpr std::size_t most_digits = 9;
    const std::string_view field = text(column);
    const std::size_t point = std::min(field.find('.'), field.size());
    const std::string_view whole = field.substr(0, point);
    std::string nanoseconds(field.substr(std::min(point + 1, field.size())));
    if (whole.empty() || whole.size() > most_digits + 1 || nanoseconds.size() > most_digits ||
        (std::string(whole) + nanoseconds).find_first_not_of("0123456789") != std::string::npos)
        throw InputError(place(column),
                         "found " + shown(field) +
                             ", expected seconds with at most nine digits behind the point");
    nanoseconds.resize(most_digits, '0');
    const std::int64_t seconds = std::stoll(std::string(whole));
    if (seconds >= time_max_ns / 1'000'000'000)
        throw InputError(place(column), "found " + shown(field) + ", expected less than 4e9 s");
    return seconds * 1'000'000'000 + std::stoll(nanoseconds);
}

void TableReader::expect_later(std::int64_t timestamp_ns) {
    if (before_ns && timestamp_ns == *before_ns)
        throw InputError(place(0),
                         "this time stands in the row above, too; remove one of the rows");
    if (before_ns && timestamp_ns < *before_ns)
        throw InputError(place(0),
                         "this time is before that of the row above; sort the rows by time");
    before_ns = timestamp_ns;
}

double TableReader::number(std::size_t column) const {
    std::string_view field = text(column);
    double value = 0;
    auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value))
        throw InputError(place(column), "found " + shown(field) + ", expected a number");
    return value;
}

} // namespace ar_hud
