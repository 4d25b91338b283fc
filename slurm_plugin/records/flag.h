// SPDX-License-Identifier: BSD-3-Clause
// Grammar of the three flags: --malleable=MIN:MAX (or MIN-MAX), --malleable-signal=NUM|NAME,
// --malleable-grace=TIME (Slurm's time forms: minutes, minutes:seconds, hours:minutes:seconds,
// days-hours, days-hours:minutes, days-hours:minutes:seconds).
//
// Each parser bounds its input first. It returns a value, or one line for the user with the given
// text and an example of a valid one.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace ringrt::records {

inline constexpr std::size_t kFlagBytesMax = 64;
inline constexpr int kGpusMax = 65536;

struct GpuRange {
    int min = 0;
    int max = 0;
};

struct FlagError {
    std::string message;  // `--malleable: expected MIN:MAX (for example 2:8), got "8:1"`
};

[[nodiscard]] std::variant<GpuRange, FlagError> parse_range(std::string_view text);
// The signal's number, 1..64. Signals that others may send to the job are rejected.
[[nodiscard]] std::variant<int, FlagError> parse_signal(std::string_view text);
[[nodiscard]] std::variant<int, FlagError> parse_grace(std::string_view text);  // seconds, 1..86400
// Whether the job may be paused: "1" for the flag, which takes no value.
[[nodiscard]] std::variant<bool, FlagError> parse_pause(std::string_view text);

// The largest size of the range that is at most `most`; 0: MIN is larger.
[[nodiscard]] int most_on_ladder(GpuRange range, int most);

// Whether `gpus` is MIN·2^k with MIN <= gpus <= MAX.
[[nodiscard]] bool on_ladder(GpuRange range, int gpus);

}  // namespace ringrt::records
