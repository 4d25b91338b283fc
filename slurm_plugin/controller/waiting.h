// SPDX-License-Identifier: BSD-3-Clause
// What is done for a job that waits: it gets a size and is released, or a smaller one where Slurm
// does not start it. Part of the machine (job_machine.h). Pure.
#pragma once

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

[[nodiscard]] Action size_and_release(const MalleableJob &job, const Target &target,
                                      const JobTracker &tracker, const PassContext &pass,
                                      const Options &options);

// Released, and not started by Slurm for a while: its size is not free, or over a limit.
[[nodiscard]] Action downsize_if_stuck(const MalleableJob &job, const Target &target,
                                       const JobTracker &tracker, const PassContext &pass,
                                       const Options &options);

// A place in the queue is lent for the one restart of a resize. The resize is over for a job that
// was requeued since, that somebody holds or changes while it is away, or that waits long with that
// place: it gives the place back before anything else, and waits like any other from then on.
[[nodiscard]] bool is_resize_over(const MalleableJob &job, const JobTracker &tracker, double now_s);
[[nodiscard]] Action end_resize(const MalleableJob &job);

[[nodiscard]] PendingUpdate::Size size_with(const records::Layout &layout, int gpus,
                                            const PassContext &pass, const JobRecord &record);

// The size that it was submitted with: its script's environment is of that size, and stock Slurm
// does not correct it.
[[nodiscard]] int first_size(const MalleableJob &job);

}  // namespace ringrt::controller
