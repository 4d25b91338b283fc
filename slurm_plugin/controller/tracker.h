// SPDX-License-Identifier: BSD-3-Clause
// What the controller keeps of a job from pass to pass. It paces the controller, and the fence
// keeps a job from starting beside its old run; where it is lost (a restart), the fence is up.
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
    Pause update_pause;  // of updates of the pending job: one was refused
    Pause write_pause;   // of changes of its record: one was refused
    LaunchFailures launches;
    std::optional<Probation> probation;     // it failed, and comes back
    Backoff growth;                         // until the next extension may be submitted
    Backoff moves;                          // until it may be asked to come back elsewhere
    std::optional<double> joining_since_s;  // one of them runs, and has not joined
    double signalled_s = 0;                 // last signal of the present resize
    std::optional<double> eligible_since_s;
    // As it was when its resize began; none: not known.
    std::optional<uint64_t> constraints;
    std::string partitions;
    bool is_edited = false;                         // they were changed while it was away
    int last_dry_run_gpus = 0;                      // mode observe: what was last logged
    std::optional<records::Intent> dry_run_intent;  // mode observe: what would have been noted

    // As of the last pass.
    Application application;  // what the jobs of its kind have measured
    std::optional<Stage> stage;
    records::IntentState state = records::IntentState::queued;
    std::string why;  // of the resize under way
    uint32_t user_id = 0;
    uint64_t pass = 0;  // number of the last pass that saw the job

    // Slurm's hold as it counts: none where too many launches have failed. Logs new failures.
    [[nodiscard]] SlurmHold hold_of(const JobRecord &record, std::vector<Event> &events);
    // The job as seen in this pass, and the events of what has changed since the last one.
    void note_joining(const std::vector<Extension> &extensions, double now_s);
    void update(const MalleableJob &job, const std::vector<NodeRecord> &nodes, double gap_end_s,
                double now_s, bool was_watched, std::vector<Event> &events);

  private:
    bool notes_edit(const MalleableJob &job);
};

// Why a job is followed no more. record: nullptr where Slurm shows it no more.
[[nodiscard]] Event end_event(const JobTracker &tracker, const JobRecord *record);

}  // namespace ringrt::controller
