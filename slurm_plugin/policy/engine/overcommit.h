// SPDX-License-Identifier: BSD-3-Clause
// Shrinks jobs on overcommitted nodes. A node can have fewer GPUs than its jobs hold, because some
// were subtracted for a pending rigid job. Then these jobs must shrink: shrinking jobs on other
// nodes would not help the rigid job.
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// The size that each job may keep: gpus_now, or less for jobs that must shrink. On each
// overcommitted node, the job that loses the least value per GPU is halved first. Pinned jobs and
// jobs at MIN keep their size.
[[nodiscard]] std::vector<int> shrink_overcommitted_nodes(std::span<const Job *const> jobs,
                                                          const Capacity &capacity,
                                                          const Options &options);

}  // namespace ringrt::policy
