// SPDX-License-Identifier: BSD-3-Clause
// Doubling as slurmctld runs it: what doubling.cpp decides, in O(n log n) and less.
//
//   size_table     each job's sizes and what they are worth, worked out once
//   overcommit     who must shrink where rigid jobs get GPUs back
//   greedy         growth by gain: most of it at once, the rest through a heap
//   packing        the nodes: a bound that is quick, places that are exact
//   fitting        sizes that have a place on the nodes
//   fast_doubling  the two proposals, or one where both are seen to be the same
//   knapsack, improve   the exact optimum of few jobs, where greedy growth falls short
//   allotment      from sizes to allotments with reasons
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::vector<Allotment> decide_doubling_fast(std::span<const Job> jobs,
                                                          const Capacity &capacity,
                                                          const Options &options);

}  // namespace ringrt::policy
