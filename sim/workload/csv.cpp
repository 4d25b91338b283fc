// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/csv.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace ringrt::sim {

TextFile read_file(const std::string &path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path.c_str(), "rb"),
                                                                std::fclose);
    if (!file) throw InputError(path + ": " + std::strerror(errno));
    std::string text;
    char block[65536];
    std::size_t got = 0;
    while ((got = std::fread(block, 1, sizeof block, file.get())) > 0) {
        text.append(block, got);
        if (text.size() > kInputBytesMax)
            throw InputError(path + ": larger than 256 MiB, the most that is read");
    }
    if (std::ferror(file.get())) throw InputError(path + ": " + std::strerror(errno));
    if (text.find('\0') != std::string::npos)
        throw InputError(path + ": holds a NUL byte, so it is not a text file");
    return {path, std::move(text)};
}

std::vector<TextFile> read_tables(const std::string &directory) {
    std::error_code error;
    std::vector<std::string> paths;
    for (const auto &entry : std::filesystem::directory_iterator(directory, error))
        if (entry.path().extension() == ".csv") paths.push_back(entry.path().string());
    if (error) throw InputError(directory + ": " + error.message());
    std::sort(paths.begin(), paths.end());
    std::vector<TextFile> files;
    for (const std::string &path : paths) files.push_back(read_file(path));
    return files;
}

std::string_view stem(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
    return path.substr(0, path.rfind('.'));
}

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

std::string printable(std::string_view text) {
    std::string safe(text.substr(0, 64));
    for (char &c : safe)
        if (c < ' ' || c > '~') c = '?';
    return safe;
}

namespace {

void split(std::string_view line, char separator, std::vector<std::string_view> &cells) {
    std::size_t from = 0;
    while (true) {
        const std::size_t to = line.find(separator, from);
        cells.push_back(line.substr(from, to - from));
        if (to == std::string_view::npos) return;
        from = to + 1;
    }
}

}  // namespace

Table::Table(TextFile file, char separator) : file_(std::move(file)) {
    std::string_view rest(file_.text);
    const auto lines = static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '\n')) + 1;
    const auto cuts = static_cast<std::size_t>(std::count(rest.begin(), rest.end(), separator));
    rows_.reserve(std::min(lines, kRowsMax));
    cells_.reserve(std::min(lines + cuts, kRowsMax));  // more are allocated as needed
    uint32_t line_number = 0;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        ++line_number;
        const auto fail_here = [&](const std::string &what) {
            throw InputError(file_.path + ":" + std::to_string(line_number) + ": " + what);
        };
        if (line.size() > kLineBytesMax) fail_here("line longer than 65536 bytes");
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty()) continue;
        if (header_.empty()) {
            split(line, separator, header_);
            continue;
        }
        rows_.push_back({.line = line_number, .first = static_cast<uint32_t>(cells_.size())});
        split(line, separator, cells_);
        const std::size_t count = cells_.size() - rows_.back().first;
        if (count != header_.size())
            fail_here(std::to_string(count) + " fields where the header has " +
                      std::to_string(header_.size()));
        if (rows_.size() > kRowsMax) fail_here("more than 5000000 rows");
    }
    if (header_.empty())
        throw InputError(file_.path + ":1: empty, expected a line of column names");
}

std::optional<std::size_t> Table::find(std::string_view column) const {
    for (std::size_t i = 0; i < header_.size(); ++i)
        if (header_[i] == column) return i;
    return std::nullopt;
}

std::size_t Table::column(std::string_view column) const {
    if (const auto index = find(column)) return *index;
    throw InputError(file_.path + ":1: no column \"" + std::string(column) + "\"");
}

std::string_view Table::text(std::size_t row, std::size_t column) const {
    return cells_[rows_[row].first + column];
}

double Table::number(std::size_t row, std::size_t column, double low, double high) const {
    const std::optional<double> value = parse_number(text(row, column));
    if (!value || *value < low || *value > high) {
        char expected[96];
        std::snprintf(expected, sizeof expected, "expected a number in %g..%g, got \"", low, high);
        fail(row,
             std::string(header_[column]) + ": " + expected + printable(text(row, column)) + "\"");
    }
    return *value;
}

double Table::number_or(std::size_t row, std::string_view column, double low, double high,
                        double otherwise) const {
    const std::optional<std::size_t> index = find(column);
    return index && !text(row, *index).empty() ? number(row, *index, low, high) : otherwise;
}

int Table::integer(std::size_t row, std::size_t column, int low, int high) const {
    const double value = number(row, column, low, high);
    if (value != std::floor(value))
        fail(row, std::string(header_[column]) + ": expected a whole number, got \"" +
                      printable(text(row, column)) + "\"");
    return static_cast<int>(value);
}

void Table::fail(std::size_t row, const std::string &what) const {
    throw InputError(file_.path + ":" + std::to_string(rows_[row].line) + ": " + what);
}

}  // namespace ringrt::sim
