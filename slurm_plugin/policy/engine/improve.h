// SPDX-License-Identifier: BSD-3-Clause
// Improves a greedy proposal that leaves GPUs unused because no job's next size fits them, or
// because they are split over nodes.
//
// The exact optimum of the decision (knapsack.h) is fitted to the nodes and taken if it is worth
// more. It is computed only if the decision may be more than kWorthwhile below the bound that
// greedy growth proves, and only for few jobs on few GPUs: with many jobs, the last step of one is
// a small share of the total.
#pragma once

#include "slurm_plugin/policy/engine/proposal.h"

namespace ringrt::policy {

void improve_with_knapsack(const SizeTable &table, const Capacity &capacity,
                           const EmptyNodes &nodes, const Options &options, Proposal &proposal);

}  // namespace ringrt::policy
