// SPDX-License-Identifier: BSD-3-Clause
// The exact optimum of one decision: used if greedy growth falls short, and to grade heuristics.
//
// A multiple-choice knapsack (as in FfDL and Lyra): every job takes one size of its ladder, or
// none. The sizes add up to at most the available GPUs. The solution serves the most jobs, then has
// the largest sum of values (value.h). Dynamic programming over jobs and GPUs: O(jobs x GPUs x
// ladder) time, O(jobs x GPUs) bytes. It ignores nodes: with powers of two and movable jobs, every
// such solution can be placed. Pinned jobs keep their size.
#pragma once

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::vector<Allotment> decide_optimum(std::span<const Job> jobs,
                                                    const Capacity &capacity,
                                                    const Options &options);

// What a decision is worth under the rule: jobs served, then the sum of their values.
struct Worth {
    int served = 0;
    double sum = 0;
};
[[nodiscard]] Worth worth_of(std::span<const Job> jobs, std::span<const Allotment> decision,
                             const Options &options);

// How far a decision falls short of the optimum of its own rule, as a share of the optimum (0: not
// at all). 1 if it serves fewer jobs.
[[nodiscard]] double gap_to_optimum(std::span<const Job> jobs, std::span<const Allotment> decision,
                                    const Capacity &capacity, const Options &options);

}  // namespace ringrt::policy
