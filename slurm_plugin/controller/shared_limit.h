// SPDX-License-Identifier: BSD-3-Clause
// Limits that jobs of a user, an account or a QOS share. Who waits at one gets back what malleable
// jobs below the same limit have borrowed, where that is enough; else nobody is asked for it.
// The limits of an account above the job's own, and of a partition's QOS, are not seen.
#pragma once

#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

struct Plan;

// Does `other` run below the limit at which `waiting` waits?
[[nodiscard]] bool shares_limit(const JobRecord &waiting, const JobRecord &other);

// Those who wait at a shared limit, those of the highest priority first.
[[nodiscard]] std::vector<const JobRecord *> waiting_at_limits(const Observation &observation);

// Makes targets smaller.
void give_at_limits(const std::vector<const JobRecord *> &waiting,
                    const std::vector<MalleableJob> &jobs, double now_s, Plan &plan);

}  // namespace ringrt::controller
