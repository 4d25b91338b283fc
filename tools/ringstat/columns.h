// SPDX-License-Identifier: BSD-3-Clause
// squeue's -o format: "%[[.]size]letter"; other characters are literal.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/ringstat/job_view.h"

namespace ringrt::ringstat {

struct Column {
    char letter;
    std::string_view header;
    std::string_view help;                     // one line, for --help and the man page
    std::string (*value)(const JobView &job);  // already printable
    double (*order)(const JobView &job);       // for --sort; nullptr: sort by the text of the value
};

[[nodiscard]] std::span<const Column> columns();

struct Cell {
    std::string literal;             // printed first
    const Column *column = nullptr;  // nullptr: the literal only
    std::size_t width = 0;           // 0: the value's width
    bool right = false;
};

// 80 columns with the longest reason of ringrt.
inline constexpr std::string_view kDefaultFormat =
    "%.7i %.9j %.8u %.7s %.4g %.4l %.4h %.7M %.8e %r";

// The cells, or a one-line error for the user.
[[nodiscard]] std::variant<std::vector<Cell>, std::string> parse_format(std::string_view format);

struct SortKey {
    const Column *column = nullptr;
    bool descending = false;
};

// "-g,i": most GPUs first, then by id. The keys, or a one-line error.
[[nodiscard]] std::variant<std::vector<SortKey>, std::string> parse_sort(std::string_view text);
void sort_jobs(std::vector<JobView> &jobs, std::span<const SortKey> keys);

[[nodiscard]] std::string header_line(std::span<const Cell> cells);
[[nodiscard]] std::string job_line(std::span<const Cell> cells, const JobView &job);

}  // namespace ringrt::ringstat
