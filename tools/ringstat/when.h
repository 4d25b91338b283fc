// SPDX-License-Identifier: BSD-3-Clause
// Times on the command line.
#pragma once

#include <optional>
#include <string_view>

namespace ringrt::ringstat {

inline constexpr std::string_view kTimeForms =
    "2026-11-22, 2026-11-22T10:30, 10:30 (today), now, 90m or 2h or 1d (ago)";

// Unix time of such a text in local time; nullopt: invalid.
[[nodiscard]] std::optional<double> parse_when(std::string_view text, double now_s);

}  // namespace ringrt::ringstat
