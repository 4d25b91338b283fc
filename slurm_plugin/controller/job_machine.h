// SPDX-License-Identifier: BSD-3-Clause
// Maps a job's stage (stage.h), target and tracker to its next action. Pure.
#pragma once

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

[[nodiscard]] Action next_action(const MalleableJob &job, const Target &target,
                                 const JobTracker &tracker, const PassContext &pass,
                                 const Options &options);

}  // namespace ringrt::controller
