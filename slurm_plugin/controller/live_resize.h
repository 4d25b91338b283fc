// SPDX-License-Identifier: BSD-3-Clause
// What is done for a training that is resized in place: each doubling is an extension as large as
// it was before, several at once where it grows so far, and each halving the last one's leaving.
// Part of the machine (job_machine.h). Pure.
#pragma once

#include <optional>

#include "slurm_plugin/controller/action.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

// Of a running job. nullopt: it is resized by requeue, or nothing is to be done in place.
[[nodiscard]] std::optional<Action> next_live_action(const MalleableJob &job, const Target &target,
                                                     const JobTracker &tracker,
                                                     const PassContext &pass,
                                                     const Options &options);

}  // namespace ringrt::controller
