// SPDX-License-Identifier: BSD-3-Clause
// The doubling heuristic as it is read, in O(jobs²): the oracle of the tests. slurmctld runs
// engine/fast_doubling.h, which decides the same.
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::vector<Allotment> decide_doubling(std::span<const Job> jobs,
                                                     const Capacity &capacity,
                                                     const Options &options);

}  // namespace ringrt::policy
