// SPDX-License-Identifier: BSD-3-Clause
// What the policy sees of a malleable job: its bounds, speed and costs, and whether it is left
// alone. Pure.
#pragma once

#include <string_view>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

struct PolicyInput {
    policy::Job job;
    // Why the job is left alone; empty: it is not. With job.pinned false, it does not grow, and may
    // give up extensions that have not joined.
    std::string_view why_pinned;
};

// `has_pending`: another job waits for what this one could give up.
[[nodiscard]] PolicyInput policy_input(const MalleableJob &malleable, const JobTracker &tracker,
                                       const Observation &observation, const Pool &pool,
                                       bool has_pending, const Options &options);

}  // namespace ringrt::controller
