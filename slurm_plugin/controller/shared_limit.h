// SPDX-License-Identifier: BSD-3-Clause
// Limits shared by jobs of a user, an account or a QOS. A job pending at such a limit gets back
// what malleable jobs below the same limit have borrowed, if that is enough; otherwise no job is
// asked for it. No job is asked to resize to, or started at, a size that these limits do not allow.
//
// Not covered: jobs pending at a memory limit, which get nothing, and two jobs that grow at once
// into the same remaining room. Slurm then does not start the later one at that size, and it
// restarts with a smaller one.
#pragma once

#include <optional>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

struct Plan;

// Whether `other` runs below the limit at which `waiting` is pending.
[[nodiscard]] bool shares_limit(const JobRecord &waiting, const JobRecord &other);

// Whether the pending job may start in the other's place while that one is away. A limit of its
// account may also be one of its user.
[[nodiscard]] bool would_follow(const JobRecord &waiting, const JobRecord &leaving);

// The largest of the job's sizes that the limits allow, and not less than its present one; 0: they
// allow none; no value: no limit is known. In a full array: the present size. Extensions in a QOS
// of their own have limits of their own.
[[nodiscard]] std::optional<int> size_below_limits(const MalleableJob &job, const Options &options);

// Jobs pending at a shared limit, highest priority first.
[[nodiscard]] std::vector<const JobRecord *> waiting_at_limits(const Observation &observation);

// Reduces targets.
void give_at_limits(const std::vector<const JobRecord *> &waiting,
                    const std::vector<MalleableJob> &jobs, double now_s, Plan &plan);

}  // namespace ringrt::controller
