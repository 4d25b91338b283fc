// SPDX-License-Identifier: BSD-3-Clause
// Doubling as slurmctld runs it: the decisions of doubling.cpp, in O(n log n) or less.
//
//   size_table     each job's sizes and their values, computed once
//   overcommit     which jobs must shrink to return GPUs to rigid jobs
//   greedy         growth by gain: most of it at once, the rest through a heap
//   packing        the nodes: a quick bound, and exact places
//   fitting        sizes that have a place on the nodes
//   fast_doubling  the two proposals, or one if both are provably the same
//   knapsack, improve   the exact optimum for few jobs, if greedy growth falls short
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
