// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/records/flag.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>

namespace ringrt::records {

namespace {

inline constexpr std::size_t kShownBytesMax = 40;
inline constexpr int kGraceSecondsMax = 86400;

struct SignalName {
    std::string_view name;
    int number;
};

// Linux's numbers on x86 and Arm. KILL and STOP are excluded: no process can save on them.
constexpr std::array kSignals{
    SignalName{"HUP", 1},   SignalName{"INT", 2},    SignalName{"QUIT", 3},
    SignalName{"ILL", 4},   SignalName{"TRAP", 5},   SignalName{"ABRT", 6},
    SignalName{"BUS", 7},   SignalName{"FPE", 8},    SignalName{"USR1", 10},
    SignalName{"SEGV", 11}, SignalName{"USR2", 12},  SignalName{"PIPE", 13},
    SignalName{"ALRM", 14}, SignalName{"TERM", 15},  SignalName{"STKFLT", 16},
    SignalName{"CHLD", 17}, SignalName{"CONT", 18},  SignalName{"TSTP", 20},
    SignalName{"TTIN", 21}, SignalName{"TTOU", 22},  SignalName{"URG", 23},
    SignalName{"XCPU", 24}, SignalName{"XFSZ", 25},  SignalName{"VTALRM", 26},
    SignalName{"PROF", 27}, SignalName{"WINCH", 28}, SignalName{"IO", 29},
    SignalName{"POLL", 29}, SignalName{"PWR", 30},   SignalName{"SYS", 31},
};

// Slurm uses TERM and CONT; training frameworks save and end on TERM, and stop on INT. Terminals
// send HUP, QUIT and INT. A program with children, connections or timers gets CHLD, PIPE, ALRM and
// the like without a request, and would requeue again and again. SEGV and its like report errors,
// TSTP and its like come from a terminal; 32 and 33 are glibc's.
bool is_sent_by_others(int number) {
    constexpr std::array kNumbers{1,  2,  3,  4,  5,  6,  7,  8,  11, 13, 14, 15, 16,
                                  17, 18, 20, 21, 22, 25, 26, 27, 29, 31, 32, 33};
    return std::find(kNumbers.begin(), kNumbers.end(), number) != kNumbers.end();
}

// The user's text, made printable on one line of a terminal.
std::string shown(std::string_view text) {
    static constexpr char kHex[] = "0123456789abcdef";
    const bool clipped = text.size() > kShownBytesMax;
    std::string out = "\"";
    for (const char c : text.substr(0, kShownBytesMax)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f) {
            out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
    }
    return out + (clipped ? "...\"" : "\"");
}

FlagError error(std::string_view what, std::string_view got) {
    return FlagError{std::string(what) + ", got " + shown(got)};
}

// Digits only: no sign, no space. The whole text or nothing.
std::optional<int> to_int(std::string_view text) {
    int value = 0;
    if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// The size of the ladder nearest to `max`; the larger one on a tie.
int nearest_on_ladder(GpuRange range) {
    int64_t below = range.min;
    while (below * 2 <= range.max) below *= 2;
    const int64_t above = below * 2;
    return static_cast<int>(above <= kGpusMax && above - range.max <= range.max - below ? above
                                                                                        : below);
}

std::string to_upper(std::string_view text) {
    std::string out(text);
    for (char &c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

// "5:30" into {5, 30}; nullopt if a part is not a number or there are more than three.
struct Parts {
    std::array<int, 3> values{};
    int count = 0;
};

std::optional<Parts> split_time(std::string_view text) {
    Parts parts;
    for (;;) {
        if (parts.count == 3) return std::nullopt;
        const std::size_t colon = text.find(':');
        const std::optional<int> value = to_int(text.substr(0, colon));
        if (!value) return std::nullopt;
        parts.values[parts.count++] = *value;
        if (colon == std::string_view::npos) return parts;
        text.remove_prefix(colon + 1);
    }
}

// Seconds of one of Slurm's time forms; nullopt if it is none.
std::optional<int64_t> time_seconds(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash != std::string_view::npos) {
        const std::optional<int> days = to_int(text.substr(0, dash));
        const std::optional<Parts> rest = split_time(text.substr(dash + 1));
        if (!days || !rest) return std::nullopt;
        const auto &[hours, minutes, seconds] = rest->values;  // absent ones are 0
        return ((int64_t{*days} * 24 + hours) * 60 + minutes) * 60 + seconds;
    }
    const std::optional<Parts> parts = split_time(text);
    if (!parts) return std::nullopt;
    const auto &[a, b, c] = parts->values;
    if (parts->count == 1) return int64_t{a} * 60;
    if (parts->count == 2) return int64_t{a} * 60 + b;
    return (int64_t{a} * 60 + b) * 60 + c;
}

}  // namespace

std::variant<GpuRange, FlagError> parse_range(std::string_view text) {
    static constexpr std::string_view kExpected = "--malleable: expected MIN:MAX (for example 2:8)";
    if (text.size() > kFlagBytesMax) return error(kExpected, text);
    const std::size_t cut = text.find_first_of(":-");
    if (cut == std::string_view::npos) return error(kExpected, text);
    const std::optional<int> min = to_int(text.substr(0, cut));
    const std::optional<int> max = to_int(text.substr(cut + 1));
    if (!min || !max || *min < 1 || *max < *min) return error(kExpected, text);
    if (*max > kGpusMax)
        return error(
            "--malleable: expected at most " + std::to_string(kGpusMax) + " GPUs (for example 2:8)",
            text);
    const GpuRange range{.min = *min, .max = *max};
    if (on_ladder(range, range.max)) return range;
    const std::string from = std::to_string(range.min) + ":";
    return error("--malleable: MAX must be MIN times a power of two (" + from +
                     std::to_string(nearest_on_ladder(range)) + ", not " + from +
                     std::to_string(range.max) + ")",
                 text);
}

std::variant<int, FlagError> parse_signal(std::string_view text) {
    static constexpr std::string_view kExpected =
        "--malleable-signal: expected a number from 1 to 64 or a name (for example URG)";
    static constexpr std::string_view kNoHandler =
        "--malleable-signal: expected a signal that can be handled (for example URG)";
    static constexpr std::string_view kNotOurs =
        "--malleable-signal: expected a signal that nothing else sends (for example URG or USR1)";
    if (text.size() > kFlagBytesMax) return error(kExpected, text);
    if (const std::optional<int> number = to_int(text)) {
        if (*number < 1 || *number > 64) return error(kExpected, text);
        if (*number == 9 || *number == 19) return error(kNoHandler, text);
        if (is_sent_by_others(*number)) return error(kNotOurs, text);
        return *number;
    }
    const std::string upper = to_upper(text);
    std::string_view name = upper;
    if (name.starts_with("SIG")) name.remove_prefix(3);
    if (name == "KILL" || name == "STOP") return error(kNoHandler, text);
    const auto *found = std::find_if(kSignals.begin(), kSignals.end(),
                                     [name](const SignalName &s) { return s.name == name; });
    if (found == kSignals.end()) return error(kExpected, text);
    if (is_sent_by_others(found->number)) return error(kNotOurs, text);
    return found->number;
}

std::variant<int, FlagError> parse_grace(std::string_view text) {
    static constexpr std::string_view kExpected =
        "--malleable-grace: expected a time from 1 second to 1 day (for example 2:00 for two "
        "minutes)";
    if (text.size() > kFlagBytesMax) return error(kExpected, text);
    const std::optional<int64_t> seconds = time_seconds(text);
    if (!seconds || *seconds < 1 || *seconds > kGraceSecondsMax) return error(kExpected, text);
    return static_cast<int>(*seconds);
}

std::variant<bool, FlagError> parse_pause(std::string_view text) {
    if (text == "1") return true;
    return error("--malleable-pause: expected no value, or SBATCH_MALLEABLE_PAUSE=1", text);
}

int most_on_ladder(GpuRange range, int most) {
    int64_t gpus = range.min;
    while (gpus * 2 <= std::min(range.max, most)) gpus *= 2;
    return gpus <= most ? static_cast<int>(gpus) : 0;
}

bool on_ladder(GpuRange range, int gpus) {
    if (range.min < 1 || gpus < range.min || gpus > range.max || gpus % range.min != 0)
        return false;
    const int factor = gpus / range.min;
    return (factor & (factor - 1)) == 0;
}

}  // namespace ringrt::records
