// SPDX-License-Identifier: BSD-3-Clause
// A malleable job as the controller sees it in one pass: Slurm's record and the two texts in it,
// read.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::controller {

struct JobView {
    const JobRecord *record = nullptr;  // of the Observation, which must outlive the view
    records::Intent intent;
    std::optional<records::Telemetry> telemetry;
};

// What the controller remembers of a job from pass to pass. All of it may be lost: it only paces.
struct JobMemory {
    double pending_since_s = 0;    // first seen waiting since it last ran
    double pending_told_s = 0;     // the same by slurmctld's clock, in whole seconds
    double signalled_s = 0;        // last signal of the present resize
    double quiet_until_s = 0;      // nothing is asked before
    int called_off = 0;            // resizes in a row that were
    int ceiling_gpus = 0;          // larger sizes were refused by Slurm, or did not start ...
    double ceiling_until_s = 0;    // ... and are not tried before
    double startable_since_s = 0;  // released and kept back by nobody since
    double wait_until_s = 0;       // no update of the pending job before (one was refused)
    double write_until_s = 0;      // no change of its record before (one was refused)
    std::vector<int> nodes;        // of its present run, or its last one
    double seen_s = 0;             // last seen to hold them
    double doubt_s = 0;            // something of it may live there, as of then; 0: it has left
    bool nodes_usable = false;     // when it was last seen waiting
    int restarts = 0;              // when it was last seen
    bool said_left = false, said_let_go = false;
    bool launch_failed = false;             // when it was last seen
    int launch_failures = 0;                // since slurmctld started
    int would = 0;                          // mode observe: what was last said
    std::optional<records::Intent> shadow;  // mode observe: what would have been noted
    JobPhase phase = JobPhase::pending;
    records::IntentState state = records::IntentState::queued;
    std::string why;  // of the resize under way
};

// Jobs with a valid intent that have not finished, in the order of the observation.
[[nodiscard]] std::vector<JobView> malleable_jobs(const Observation &observation);

[[nodiscard]] bool is_malleable(const JobRecord &record);

// Does it hold GPUs, as far as Slurm knows? A completing job still does.
[[nodiscard]] bool holds_gpus(const JobRecord &record);

// A resize that was asked and is not yet over.
[[nodiscard]] bool is_resizing(const JobView &job);

// A pending job that waits for its size: a new one, or one that came back.
[[nodiscard]] bool waits_for_size(const JobView &job);

// A pending job that its user, an administrator or a dependency keeps from starting now.
[[nodiscard]] bool is_kept_back(const JobView &job, double now_s, const Options &options);

// Why a running job cannot be asked to resize now; empty: it can.
[[nodiscard]] std::string_view why_not_askable(const JobView &job, const JobMemory &memory,
                                               double now_s, bool somebody_waits,
                                               const Options &options);

// Is the size beyond what Slurm let the job have lately?
[[nodiscard]] bool is_over_ceiling(const JobMemory &memory, int gpus, double now_s);

// The incarnation's telemetry, nullptr where there is none yet.
[[nodiscard]] const records::Telemetry *current_telemetry(const JobView &job);

// Seconds since a moment noted in a record; infinite where the clock was set back since.
[[nodiscard]] double age_s(double then_s, double now_s);

}  // namespace ringrt::controller
