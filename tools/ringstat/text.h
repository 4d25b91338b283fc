// SPDX-License-Identifier: BSD-3-Clause
// Text for terminals. Users choose job names and comments: both are untrusted.
#pragma once

#include <string>
#include <string_view>

namespace ringrt::ringstat {

// Keeps printable UTF-8. Control characters (C0, DEL, C1), characters that change the writing
// direction, and bytes that are not UTF-8 become \xNN or \u{NNNN}.
[[nodiscard]] std::string printable(std::string_view hostile);

// Left- or right-justified in `width` columns (one per code point), cut if longer. 0: unchanged.
[[nodiscard]] std::string fit(std::string_view text, std::size_t width, bool right);

// "best_gain" in Slurm's style: "BestGain".
[[nodiscard]] std::string camel_case(std::string_view code);

// squeue's format: [days-]hours:minutes:seconds, or minutes:seconds below an hour.
[[nodiscard]] std::string duration(double seconds);

// "2026-11-21T11:02:33", local.
[[nodiscard]] std::string local_time(double time_s);

}  // namespace ringrt::ringstat
