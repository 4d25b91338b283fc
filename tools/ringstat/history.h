// SPDX-License-Identifier: BSD-3-Clause
// The plugin's event log: one JSON object per line (slurm_plugin/controller/event.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ringstat/job_name.h"

namespace ringrt::ringstat {

struct PastEvent {
    double time_s = 0;
    uint32_t job = 0;
    std::string task;  // "100_3" for an array task; else empty
    std::string event, reason, text;
    int from = 0, to = 0;
    double gap_s = 0;
    std::string name;      // of the job, untrusted; empty: not in the log
    uint32_t user_id = 0;  // valid if the name is not empty
};

inline constexpr std::size_t kEventLineBytesMax = 4096;

// nullopt for a line that is not an event: truncated by a crash, too long, or of a later version.
[[nodiscard]] std::optional<PastEvent> parse_event(std::string_view line);

struct History {
    std::vector<PastEvent> events;
    std::size_t lines_skipped = 0;
    std::string error;  // empty, or one line: why there is no history
};

// All events, oldest first, including those in FILE.1, to which the plugin or logrotate has renamed
// an older log.
[[nodiscard]] History read_history(const std::string &path);

struct Selection {
    std::optional<WantedJob> job;     // none: all
    double since_s = 0, until_s = 0;  // Unix times; 0: no bound
    std::size_t last = 0;             // at most this many, the newest; 0: all
};
[[nodiscard]] std::vector<PastEvent> select(std::vector<PastEvent> events,
                                            const Selection &selection);

// "2026-11-21T11:02:33  12 train  resized  2 -> 8  BestGain  …"
[[nodiscard]] std::string event_line(const PastEvent &event);

}  // namespace ringrt::ringstat
