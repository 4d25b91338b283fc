// SPDX-License-Identifier: BSD-3-Clause
// Text for terminals. Job names and comments are their owner's: hostile.
#pragma once

#include <string>
#include <string_view>

namespace ringrt::ringstat {

// Printable UTF-8 as it is; control characters (C0, DEL, C1), characters that turn the direction of
// writing, and bytes that are not UTF-8 become \xNN or \u{NNNN}.
[[nodiscard]] std::string printable(std::string_view hostile);

// Left- or right-justified in `width` columns (one per code point), cut when longer. 0: as it is.
[[nodiscard]] std::string fit(std::string_view text, std::size_t width, bool right);

// "best_gain" as Slurm would write it: "BestGain".
[[nodiscard]] std::string camel_case(std::string_view code);

// squeue's form: [days-]hours:minutes:seconds, or minutes:seconds below an hour.
[[nodiscard]] std::string duration(double seconds);

// "2026-11-21T11:02:33", local.
[[nodiscard]] std::string local_time(double time_s);

}  // namespace ringrt::ringstat
