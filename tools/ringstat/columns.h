// SPDX-License-Identifier: BSD-3-Clause
// squeue's -o format: "%[[.]size]letter", anything else stands for itself.
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
};

[[nodiscard]] std::span<const Column> columns();

struct Cell {
    std::string literal;             // printed first
    const Column *column = nullptr;  // nullptr: the literal only
    std::size_t width = 0;           // 0: as wide as the value
    bool right = false;
};

inline constexpr std::string_view kDefaultFormat =
    "%.8i %.12j %.9u %.2t %.5g %.4l %.4h %.7z %.7s %.9M %.8p %.9e %r";

// The cells, or one line for the user about what is wrong.
[[nodiscard]] std::variant<std::vector<Cell>, std::string> parse_format(std::string_view format);

[[nodiscard]] std::string header_line(std::span<const Cell> cells);
[[nodiscard]] std::string job_line(std::span<const Cell> cells, const JobView &job);

}  // namespace ringrt::ringstat
