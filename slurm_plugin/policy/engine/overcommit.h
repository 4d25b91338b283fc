// SPDX-License-Identifier: BSD-3-Clause
// Where a node has fewer GPUs than the jobs on it hold (some were taken out for a rigid job that
// waits), these very jobs must give: that others shrink elsewhere would not help the rigid job.
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// The size at which each job may stay: gpus_now, or less for those that must give. On each such
// node the job that loses the least value per GPU is halved first; pinned jobs, and those at MIN,
// keep theirs.
[[nodiscard]] std::vector<int> shrink_overcommitted_nodes(std::span<const Job *const> jobs,
                                                          const Capacity &capacity,
                                                          const Options &options);

}  // namespace ringrt::policy
