// SPDX-License-Identifier: BSD-3-Clause
// The reference implementation of the doubling heuristic, in O(jobs²): the oracle of the tests.
// slurmctld runs engine/fast_doubling.h, which makes the same decisions, and pauses jobs
// (pausing.h).
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::vector<Allotment> decide_doubling(std::span<const Job> jobs,
                                                     const Capacity &capacity,
                                                     const Options &options);

}  // namespace ringrt::policy
