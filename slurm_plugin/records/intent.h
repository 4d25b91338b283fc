// SPDX-License-Identifier: BSD-3-Clause
// Intent: what the scheduler wants of one malleable job, kept in the job's AdminComment.
//
// It is the plugin's only memory: after a restart of slurmctld the controller goes on from these
// records. Only Slurm's administrators can write an AdminComment, yet the text is parsed as hostile
// input: ASCII, at most kRecordBytesMax bytes, unknown keys ignored (a newer plugin may have
// written them), a missing or malformed required key makes the record invalid.
//
//   malleable/1 min=1 max=8 sig=23 grace=60 state=asked id=7 target=8 since=1763721600 from=4 n=3
//
// A site's own text may stand before the record; format_into() keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

inline constexpr std::size_t kRecordBytesMax = 256;

// Where a job stands in its resize protocol (controller/job_machine.h draws the arrows).
enum class IntentState : uint8_t {
    queued,    // pending, not yet sized: a new job, or one that came back by itself
    sized,     // pending, size set; waits for its release time
    released,  // pending, may start as soon as Slurm finds room
    running,   // running at its size, nothing asked
    asked,     // the checkpoint signal was sent; `target` is the size it shall come back with
    leaving,   // the job asked for its own requeue; Slurm is taking it down
};

struct Intent {
    int gpus_min = 1;
    int gpus_max = 1;
    int signal = 23;          // SIGURG: a process without a handler ignores it
    int grace_s = 120;        // from the signal until the resize is called off
    IntentState state = IntentState::queued;
    uint32_t resize_id = 0;   // counts what was asked; a resize is applied at most once
    int gpus = 0;             // size it was last given (0: none yet)
    int target = 0;           // size of the resize under way (0: none)
    int64_t since_s = 0;      // Unix time of the last change of state
    int resizes = 0;          // completed resizes
    double gap_s = 0;         // the last resize's time from signal to running again
    double restart_s = 0;     // measured cost of a stop and restart: smoothed gap plus load (0: unknown)
    std::string why;          // reason code of the last decision, [A-Za-z]{0,24}, as ringstat shows it
};

// nullopt where no valid record is in `text`. Never throws; looks at the last `malleable/1` only.
[[nodiscard]] std::optional<Intent> parse_intent(std::string_view text);

// The record alone, at most kRecordBytesMax bytes.
[[nodiscard]] std::string format_intent(const Intent &intent);

// `site_text` with its intent record replaced, or with the record appended.
[[nodiscard]] std::string format_into(std::string_view site_text, const Intent &intent);

[[nodiscard]] std::string_view to_string(IntentState state);

}  // namespace ringrt::records
