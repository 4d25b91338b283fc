// SPDX-License-Identifier: BSD-3-Clause
// Intent: what the controller wants of one malleable job, kept in the job's AdminComment.
//
// After a restart of slurmctld the controller continues from these records. They may lack the last
// seconds before the restart, which are in the journal (controller/journal.h). Only Slurm's
// administrators can write an AdminComment, but the text is parsed as untrusted input: ASCII, at
// most kRecordBytesMax bytes. Unknown keys are ignored, because a newer plugin may have written
// them. A missing or malformed required key makes the record invalid.
//
//   malleable/1 min=1 max=8 sig=23 grace=60 state=asked id=7 gpus=4 target=8 since=1763721600 n=3
//
// The site's own text may precede the record; format_into() keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ringrt::records {

inline constexpr std::size_t kRecordBytesMax = 394;

// Mails that Slurm sends about each run of a job, not about its end: any of these bits.
using RunMails = uint8_t;
inline constexpr RunMails kMailBegin = 1, kMailRequeue = 2,
                          kRunMailsAll = kMailBegin | kMailRequeue;

// The job's state in the resize protocol (drawn in controller/stage.h). It does not repeat what
// Slurm shows (pending, running, completing): the record of a completing job cannot be altered, and
// a pending job is sized and released by one update.
enum class IntentState : uint8_t {
    queued,    // not sized yet: a new job (written by job_submit)
    released,  // sized; Slurm may start it
    running,   // running at its size, not asked
    asked,     // signalled to save and requeue; `target` is the size to restart with, 0 to pause
    paused,    // it has left its GPUs and waits with its MIN until `begin_s`, which is renewed
};

// The layout of a job's ranks on its nodes, the same at every size, from its script's header.
struct Layout {
    int gpus_per_node = 0;       // at most, on each node; 0: as many as the node has
    bool task_per_node = false;  // one launcher per node; else one task per GPU

    bool operator==(const Layout &) const = default;
};

// Number of nodes for `gpus` GPUs, the same number on each, if a node of the cluster has node_gpus.
[[nodiscard]] int nodes_of(const Layout &layout, int gpus, int node_gpus);
[[nodiscard]] int tasks_of(const Layout &layout, int gpus, int nodes);

struct Intent {
    int gpus_min = 1;
    int gpus_max = 1;
    int signal = 23;    // SIGURG: ignored by a process without a handler
    int grace_s = 120;  // from the signal until the resize is called off
    Layout layout;
    IntentState state = IntentState::queued;
    uint32_t resize_id = 0;       // counts requests; a resize is applied at most once
    int first_gpus = 0;           // requested at submission (0: none)
    int gpus = 0;                 // size of the present or the last run (0: never ran)
    int target = 0;               // size set or asked for but not running yet (0: none)
    double since_s = 0;           // Unix time of the last change of state
    double asked_s = 0;           // Unix time at which the present resize was asked (0: none)
    int64_t begin_s = 0;          // earliest start: requested at submission, or set while it is
                                  // paused (0: none)
    int64_t start_s = 0;          // start of the present run (0: not running, or counted in used_s)
    int64_t limit_s = 0;          // time limit over all runs (0: not known yet, -1: unlimited)
    bool limit_by_slurm = false;  // no --time: Slurm chooses at each start, until one is set here
    int64_t used_s = 0;           // run time of all earlier runs
    int run = -1;                 // Slurm's restart count at the release or start (-1: neither)
    int64_t base_step = -1;       // first step reported in that run: a resize needs later steps
    int resizes = 0;              // completed resizes
    double gap_s = 0;             // time of the last resize from the signal to the restart
    double restart_s = 0;         // smoothed gaps (0: not known)
    double start_up_s = 0;        // from a run's start until it trained, last known (0: not known)
    // The job's own nice value while a lower one is lent to it for a restart; else none.
    std::optional<int64_t> own_nice;
    // Checksum of the list of excluded nodes that is lent to the job while it is pending; 0: none.
    uint32_t exclusions_checksum = 0;
    // Mails that the user gets again after the present resize; 0: none are suppressed.
    RunMails own_mails = 0;
    bool pause = false;  // its user allows pauses (doc/pausing.md)
    bool live = false;   // its program is resized in place (doc/live.md)
    int keep =
        0;  // GPUs that it is asked to keep, and to give up its other nodes in place (0: none)
    // The previous size (0: none, or not known), and the size at which the job failed soon after a
    // resize, which its range now excludes (controller/probation.h).
    int good = 0, bad = 0;
    std::string why;  // reason code of the last decision, [A-Za-z_]{0,24}, for ringstat

    bool operator==(const Intent &) const = default;
};

// nullopt if `text` has no valid record. Never throws. Reads only the last `malleable/1`.
[[nodiscard]] std::optional<Intent> parse_intent(std::string_view text);

// The record alone, at most kRecordBytesMax bytes.
[[nodiscard]] std::string format_intent(const Intent &intent);

// `site_text` with its intent record replaced, or with the record appended.
[[nodiscard]] std::string format_into(std::string_view site_text, const Intent &intent);

// The site's text alone.
[[nodiscard]] std::string without_intent(std::string_view text);

[[nodiscard]] std::string_view to_string(IntentState state);

}  // namespace ringrt::records
