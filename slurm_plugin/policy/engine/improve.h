// SPDX-License-Identifier: BSD-3-Clause
// Where greedy growth falls short: GPUs that no job's next size fits, or that are split over nodes.
//
// The exact optimum of the decision (knapsack.h) is fitted to the nodes and taken where it is worth
// more. Worked out only where the decision may be more than kWorthwhile below the bound that the
// greedy itself proves, and only for few jobs on few GPUs: of many, one job's last step is a small
// share of the whole.
#pragma once

#include "slurm_plugin/policy/engine/proposal.h"

namespace ringrt::policy {

void improve_with_knapsack(const SizeTable &table, const Capacity &capacity,
                           const EmptyNodes &nodes, const Options &options, Proposal &proposal);

}  // namespace ringrt::policy
