// SPDX-License-Identifier: BSD-3-Clause
// The next action for a training that is resized in place. Each doubling is one extension as large
// as the training before it; several can be submitted at once. Each halving removes the last
// extension; a base without extensions gives up whole nodes (base_shrink.h). Part of the state
// machine (job_machine.h). Pure.
#pragma once

#include <optional>

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

// For a running job. nullopt: it is resized by requeue, or has nothing to do in place.
[[nodiscard]] std::optional<Action> next_live_action(const MalleableJob &job, const Target &target,
                                                     const JobTracker &tracker,
                                                     const PassContext &pass,
                                                     const Options &options);

}  // namespace ringrt::controller
