// SPDX-License-Identifier: BSD-3-Clause
// Pauses (doc/pausing.md): a pause is a resize by requeue to 0 GPUs. The job then is pending with
// its MIN, and a start time that lies a while ahead. The controller renews the start time. If no
// controller does, Slurm starts the job. Part of the state machine (job_machine.h). Pure.
#pragma once

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

// How far ahead the start time is set, down to a full minute. It is renewed when less than half of
// it is left.
inline constexpr double kPauseLease_s = 600;

[[nodiscard]] bool may_pause(const MalleableJob &job, const Options &options);
// Also for a pending job, a job has run for min_resize_interval_s first: otherwise two jobs that
// have reported nothing yet could pause each other in turns.
[[nodiscard]] bool may_pause_now(const MalleableJob &job, double now_s, const Options &options);

// How many of its GPUs pending rigid jobs leave it: MIN, or 0 if it may be paused.
[[nodiscard]] int kept_from_rigid(const MalleableJob &job, double now_s, const Options &options);

// It has no place among the other pending jobs: it is about to be paused, or it is paused and not
// for too long. The policy alone decides when it continues.
[[nodiscard]] bool gave_up_its_place(const MalleableJob &job, double now_s, const Options &options);

// It left its GPUs to pause, and the site and the policy still want that.
[[nodiscard]] bool is_to_be_paused(const MalleableJob &job, const Target &target,
                                   const Options &options);
[[nodiscard]] Action pause(const MalleableJob &job, const JobTracker &tracker,
                           const PassContext &pass);

// For a paused job.
[[nodiscard]] Action resume_or_renew(const MalleableJob &job, const Target &target,
                                     const JobTracker &tracker, const PassContext &pass,
                                     const Options &options);
// Unix time from which the first start time of a paused job is to be renewed.
[[nodiscard]] double first_renewal_s(const std::vector<MalleableJob> &jobs);

}  // namespace ringrt::controller
