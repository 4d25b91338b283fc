// SPDX-License-Identifier: BSD-3-Clause
// Intent: what the scheduler wants of one malleable job, kept in the job's AdminComment.
//
// After a restart of slurmctld the controller goes on from these records; of the last seconds
// before it, which they may lack, the journal tells (controller/journal.h). Only Slurm's
// administrators can write an AdminComment, yet the text is parsed as hostile input: ASCII, at most
// kRecordBytesMax bytes, unknown keys ignored (a newer plugin may have written them), a missing or
// malformed required key makes the record invalid.
//
//   malleable/1 min=1 max=8 sig=23 grace=60 state=asked id=7 gpus=4 target=8 since=1763721600 n=3
//
// A site's own text may stand before the record; format_into() keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

inline constexpr std::size_t kRecordBytesMax = 386;

// Mails that Slurm sends about each run of a job, and not about its end: any of these bits.
using RunMails = uint8_t;
inline constexpr RunMails kMailBegin = 1, kMailRequeue = 2,
                          kRunMailsAll = kMailBegin | kMailRequeue;

// Where a job stands in its resize protocol (controller/job_machine.h draws the arrows). What Slurm
// itself shows (pending, running, completing) is not repeated here: a completing job's record
// cannot be altered, and a pending one is sized and released by one update.
enum class IntentState : uint8_t {
    queued,    // not yet sized: a new job (written by job_submit)
    released,  // sized, may start as soon as Slurm finds room
    running,   // runs at its size, nothing asked
    asked,     // the checkpoint signal was sent; `target` is the size it shall come back with
};

// How a job's ranks lie on its nodes, at every size, as its script's header has it.
struct Layout {
    int gpus_per_node = 0;       // at most, the same on each node; 0: as many as the node has
    bool task_per_node = false;  // one launcher on each node; else one task per GPU

    bool operator==(const Layout &) const = default;
};

// Nodes for so many GPUs, where a node of the cluster has node_gpus.
[[nodiscard]] int nodes_of(const Layout &layout, int gpus, int node_gpus);
[[nodiscard]] int tasks_of(const Layout &layout, int gpus, int nodes);

struct Intent {
    int gpus_min = 1;
    int gpus_max = 1;
    int signal = 23;    // SIGURG: a process without a handler ignores it
    int grace_s = 120;  // from the signal until the resize is called off
    Layout layout;
    IntentState state = IntentState::queued;
    uint32_t resize_id = 0;       // counts what was asked; a resize is applied at most once
    int first_gpus = 0;           // size it was submitted with (0: not known, an older record)
    int gpus = 0;                 // size it runs at, or last ran at (0: never ran)
    int target = 0;               // size set or asked for but not yet running (0: none)
    double since_s = 0;           // Unix time of the last change of state
    double asked_s = 0;           // Unix time at which the resize under way was asked (0: none)
    int64_t begin_s = 0;          // earliest start that the user asked for at submission (0: none)
    int64_t start_s = 0;          // start of the present run (0: not running, or already in used_s)
    int64_t limit_s = 0;          // time limit over all runs (0: not known yet, -1: unlimited)
    bool limit_by_slurm = false;  // no --time: Slurm chooses at each start, until we have set one
    int64_t used_s = 0;           // run time of all runs before the present one
    int run = -1;            // Slurm's restart count when it was released or started (-1: neither)
    int64_t base_step = -1;  // first step heard of in that run: a resize needs progress beyond it
    int resizes = 0;         // completed resizes
    double gap_s = 0;        // the last resize's time from signal to running again
    double restart_s = 0;    // the gaps smoothed: measured cost of a stop and restart (0: unknown)
    // The job's own nice value while a lower one is lent to it for a restart, else none.
    std::optional<int64_t> own_nice;
    // A checksum of the list of excluded nodes that is lent to it while it waits, 0: none is.
    uint32_t kept_off = 0;
    // That its user gets again after the resize under way, 0: none are kept back.
    RunMails own_mails = 0;
    bool live = false;  // its program is resized in place (doc/live.md)
    // The size before the present one (0: none, or not known), and the size at which it failed soon
    // after a resize, now out of its range (controller/probation.h).
    int good = 0, bad = 0;
    std::string why;  // reason code of the last decision, [A-Za-z_]{0,24}, as ringstat shows it

    bool operator==(const Intent &) const = default;
};

// nullopt where no valid record is in `text`. Never throws; looks at the last `malleable/1` only.
[[nodiscard]] std::optional<Intent> parse_intent(std::string_view text);

// The record alone, at most kRecordBytesMax bytes.
[[nodiscard]] std::string format_intent(const Intent &intent);

// `site_text` with its intent record replaced, or with the record appended.
[[nodiscard]] std::string format_into(std::string_view site_text, const Intent &intent);

// The site's text alone.
[[nodiscard]] std::string without_intent(std::string_view text);

[[nodiscard]] std::string_view to_string(IntentState state);

}  // namespace ringrt::records
