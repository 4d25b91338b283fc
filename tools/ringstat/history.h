// SPDX-License-Identifier: BSD-3-Clause
// The plugin's event log: one JSON object a line (slurm_plugin/controller/event.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrt::ringstat {

struct PastEvent {
    double time_s = 0;
    uint32_t job = 0;
    std::string event, reason, text;
    int from = 0, to = 0;
    double gap_s = 0;
};

inline constexpr std::size_t kEventLineBytesMax = 4096;

// nullopt for a line that is no event: torn by a crash, too long, or of a later version.
[[nodiscard]] std::optional<PastEvent> parse_event(std::string_view line);

struct History {
    std::vector<PastEvent> events;
    std::size_t lines_skipped = 0;
    std::string error;  // empty, or one line: why there is no history
};

// The events of one job, or of all (job 0), oldest first.
[[nodiscard]] History read_history(const std::string &path, uint32_t job);

// "2026-11-21T11:02:33  job 12  resized  2 -> 8  BestGain  …"
[[nodiscard]] std::string event_line(const PastEvent &event);

}  // namespace ringrt::ringstat
