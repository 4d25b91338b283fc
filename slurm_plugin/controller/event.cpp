// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/event.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace ringrt::controller {

namespace {

constexpr std::array<std::string_view, 17> kKinds{
    "released",   "downsized",     "asked",         "requeued", "started", "resized",
    "called_off", "user_override", "launch_failed", "ended",    "lost",    "refused",
    "paused",     "resumed",       "extension",     "dry_run",  "error",
};

constexpr std::array<std::string_view, 8> kOutcomes{
    "none", "resize", "recovered", "completed", "cancelled", "failed", "by_slurm", "gone",
};

template <typename Enum, std::size_t count>
std::optional<Enum> find_in(const std::array<std::string_view, count> &names,
                            std::string_view text) {
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

std::string fixed(double value, int digits) {
    char text[48];
    if (!(std::abs(value) < 1e15)) return "0";
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr;
    return {text, end};
}

// Bytes that are not plain ASCII become '?', so that a JSON line stays valid.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c >= 0x20 && c < 0x7f ? c : '?';
    }
    return out + '"';
}

}  // namespace

std::string_view to_string(EventKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<EventKind> event_kind(std::string_view text) {
    return find_in<EventKind>(kKinds, text);
}

std::string_view to_string(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> outcome_of(std::string_view text) {
    return find_in<Outcome>(kOutcomes, text);
}

std::string to_json(const Event &event) {
    std::string out = "{\"time\":" + fixed(event.time_s, 3);
    out += ",\"job\":" + std::to_string(event.job_id);
    out += ",\"event\":" + quoted(to_string(event.kind));
    out += ",\"from\":" + std::to_string(event.from) + ",\"to\":" + std::to_string(event.to);
    out += ",\"reason\":" + quoted(event.reason);
    out += ",\"gap_s\":" + fixed(event.gap_s, 2);
    if (event.outcome != Outcome::none) out += ",\"outcome\":" + quoted(to_string(event.outcome));
    out += ",\"text\":" + quoted(event.text);
    if (!event.name.empty())
        out += ",\"name\":" + quoted(event.name) + ",\"user\":" + std::to_string(event.user_id);
    if (!event.array_task.empty()) out += ",\"array_task\":" + quoted(event.array_task);
    return out + "}";
}

}  // namespace ringrt::controller
