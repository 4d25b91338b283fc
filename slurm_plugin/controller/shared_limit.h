// SPDX-License-Identifier: BSD-3-Clause
// Limits that jobs of a user, an account or a QOS share. Who waits at one gets back what malleable
// jobs below the same limit have borrowed, where that is enough; else nobody is asked for it.
// Nobody is asked to leave for a size that these limits do not allow, or is started with one. Not
// seen: who waits at a limit of memory, and gets nothing; and that two jobs grow into what one
// limit leaves at once. Then Slurm does not start the later one at that size, and it comes back
// with a smaller one.
#pragma once

#include <optional>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

struct Plan;

// Does `other` run below the limit at which `waiting` waits?
[[nodiscard]] bool shares_limit(const JobRecord &waiting, const JobRecord &other);

// The largest of the job's sizes that the limits leave it, and not less than it has now; 0: they
// leave it none; no value: no limit is known. In a full array it is the present size. Extensions in
// a QOS of their own have limits of their own.
[[nodiscard]] std::optional<int> size_below_limits(const MalleableJob &job, const Options &options);

// Those who wait at a shared limit, those of the highest priority first.
[[nodiscard]] std::vector<const JobRecord *> waiting_at_limits(const Observation &observation);

// Makes targets smaller.
void give_at_limits(const std::vector<const JobRecord *> &waiting,
                    const std::vector<MalleableJob> &jobs, double now_s, Plan &plan);

}  // namespace ringrt::controller
