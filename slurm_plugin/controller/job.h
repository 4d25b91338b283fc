// SPDX-License-Identifier: BSD-3-Clause
// A malleable job as the controller sees it in one pass.
#pragma once

#include <string_view>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/extension.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/controller/stage.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::controller {

struct JobTracker;

struct MalleableJob {
    const JobRecord *record = nullptr;  // of the Observation, which must outlive this
    records::Intent intent;             // from the record; in mode observe from the dry run
    Stage stage = Stage::ended;
    bool is_live = false;   // it may grow in place (doc/live.md)
    bool may_move = false;  // it can restart on other nodes: if asked now, or already asked
    std::vector<Extension> extensions;  // by level; the record counts their GPUs

    // A resize was asked and is not over yet.
    [[nodiscard]] bool is_resizing() const { return intent.asked_s > 0; }
    // Telemetry of the present run; nullptr if there is none yet.
    [[nodiscard]] const records::Telemetry *current_telemetry() const;
};

[[nodiscard]] Holds holds_of(const Options &options);

// The malleable jobs that have not ended, in observation order, from their records alone: for a
// caller without trackers.
[[nodiscard]] std::vector<MalleableJob> malleable_jobs(const Observation &observation,
                                                       const Options &options);

// Why a running job cannot be asked to resize now; empty: it can.
inline constexpr std::string_view kResizedJustNow = "it was resized a moment ago";
[[nodiscard]] std::string_view why_not_askable(const MalleableJob &job, const JobTracker &tracker,
                                               double now_s, bool has_pending,
                                               const Options &options);

// It held GPUs before, or holds some now.
[[nodiscard]] bool has_run(const MalleableJob &job);

// Whether a requeue would lose its slot in its array to the next task.
[[nodiscard]] bool keeps_array_slot(const MalleableJob &job);

// Whether it can restart on other nodes, if asked now or already asked.
[[nodiscard]] bool may_move(const MalleableJob &job, const JobTracker &tracker, double now_s,
                            const Options &options);

// It was asked some time ago and may never leave. Other jobs need not wait for it.
[[nodiscard]] bool is_silent(const MalleableJob &job, double now_s);

// Seconds since a time noted in a record; infinite if the clock was set back since.
[[nodiscard]] double age_s(double then_s, double now_s);

}  // namespace ringrt::controller
