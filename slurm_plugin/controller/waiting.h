// SPDX-License-Identifier: BSD-3-Clause
// Actions for a pending job: it gets a size and is released, or gets a smaller size if Slurm does
// not start it. Part of the state machine (job_machine.h). Pure.
#pragma once

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

[[nodiscard]] Action size_and_release(const MalleableJob &job, const Target &target,
                                      const JobTracker &tracker, const PassContext &pass,
                                      const Options &options);

// For a paused job (pausing.h); 0 GPUs: with its present size.
[[nodiscard]] Action resume(const MalleableJob &job, const Target &target,
                            const JobTracker &tracker, const PassContext &pass, int gpus);

// Both rules of slurmd: a newer credential, and no processes of the old run.
[[nodiscard]] bool may_start(const MalleableJob &job, const JobTracker &tracker, double now_s,
                             const Options &options);

// For a job that was released some time ago and not started: its size is not free, or over a limit.
[[nodiscard]] Action downsize_if_stuck(const MalleableJob &job, const Target &target,
                                       const JobTracker &tracker, const PassContext &pass,
                                       const Options &options);

// A resize lends a place in the queue for one restart. The resize is over if the job was requeued
// since, if it is held or changed while pending, or if it is pending long with that place. The job
// then returns the place first, and is pending like any other from then on.
[[nodiscard]] bool is_resize_over(const MalleableJob &job, const JobTracker &tracker, double now_s);
[[nodiscard]] Action end_resize(const MalleableJob &job);

[[nodiscard]] PendingUpdate::Size size_with(const records::Layout &layout, int gpus,
                                            const PassContext &pass, const JobRecord &record);

// The size that it was submitted with: its script's environment has that size, and stock Slurm does
// not correct it.
[[nodiscard]] int first_size(const MalleableJob &job);

}  // namespace ringrt::controller
