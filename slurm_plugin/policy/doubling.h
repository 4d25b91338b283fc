// SPDX-License-Identifier: BSD-3-Clause
// The doubling heuristic (arXiv 1908.08082): first GPUs in priority and arrival order, then the job
// that gains the most per GPU is doubled, again and again. A priority queue makes it O(n log n).
//
//   gain = (value(to) - value(w)) / (to - w),   to = 2w in the paper's rule, any 2^k·w in the
//   others
//
// gain.h has the values. A value counts the cost of a restart where w is not the size that the job
// runs at, which makes a growth pay for itself and protects the present size. Two proposals are
// made: one from MIN up, as in the paper, and one from the present sizes up. The first is taken
// only where it serves more jobs, or is worth more in sum, restarts included. So every voluntary
// change is worth more than its restarts cost, and decisions cannot flap.
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/gain.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::vector<Allotment> decide_doubling(std::span<const Job> jobs,
                                                     const Capacity &capacity,
                                                     const Options &options);

}  // namespace ringrt::policy
