// SPDX-License-Identifier: BSD-3-Clause
// What the controller remembers about a job between passes: what delays its next resize, and the
// fence, which prevents it from starting while its old run may be alive. A controller that restarts
// has lost this, and begins with the fence up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/applications.h"
#include "slurm_plugin/controller/event.h"
#include "slurm_plugin/controller/fence.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/pacing.h"
#include "slurm_plugin/controller/probation.h"

namespace ringrt::controller {

struct JobTracker {
    Fence fence;
    Backoff backoff;  // until the next resize may be asked
    Ceiling ceiling;
    Pause update_pause;  // for updates of the pending job, after a refusal
    Pause write_pause;   // for changes of its record, after a refusal
    LaunchFailures launches;
    std::optional<Probation> probation;      // it failed and is requeued
    Backoff growth;                          // until the next extension may be submitted
    Backoff shrinks;                         // until its nodes may be asked to leave in place again
    Backoff moves;                           // until it may be asked to move again
    std::optional<double> joining_since_s;   // an extension runs and has not joined
    Wish wish;                               // for another size
    double signalled_s = 0;                  // last signal of the present resize
    std::optional<double> eligible_since_s;  // without the time in which its data is staged
    // As of the start of its resize; none: not known.
    std::optional<uint64_t> constraints;
    std::string partitions;
    bool is_edited = false;                         // they were changed during the restart
    int last_dry_run_gpus = -1;                     // mode observe: the size last logged
    std::optional<records::Intent> dry_run_intent;  // mode observe: what would have been written

    // As of the last pass.
    Application application;  // measurements of its application
    std::optional<Stage> stage;
    records::IntentState state = records::IntentState::queued;
    std::string why;  // of the resize under way
    uint32_t user_id = 0;
    uint64_t pass = 0;  // number of the last pass that saw the job

    // The record's slurm_hold; none after too many failed launches, so that the hold counts as a
    // user's. Appends an event for a new failure.
    [[nodiscard]] SlurmHold hold_of(const JobRecord &record, std::vector<Event> &events);
    // Notes since when an extension runs and has not joined.
    void note_joining(const std::vector<Extension> &extensions, double now_s);
    // Updates from this pass, and appends events for changes since the last one.
    void update(const MalleableJob &job, const std::vector<NodeRecord> &nodes, double gap_end_s,
                double now_s, bool was_watched, std::vector<Event> &events);

  private:
    bool notes_edit(const MalleableJob &job);
};

// Why a job is no longer tracked. record: nullptr if Slurm no longer shows it.
[[nodiscard]] Event end_event(const JobTracker &tracker, const JobRecord *record);

}  // namespace ringrt::controller
