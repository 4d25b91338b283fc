// SPDX-License-Identifier: BSD-3-Clause
// A place on the nodes for the sizes of a proposal.
#pragma once

#include <vector>

#include "slurm_plugin/policy/ladder.h"
#include "slurm_plugin/policy/placement.h"

namespace ringrt::policy {

// What a decision is worth: jobs served first, then the sum of their values.
struct ProposalWorth {
    int served = 0;
    double sum = 0;
};

[[nodiscard]] ProposalWorth worth_of(const Ladders &ladders, const std::vector<Level> &levels);

[[nodiscard]] bool is_better(const ProposalWorth &a, const ProposalWorth &b);

// Places the unchanged jobs where they are and the others by size, the largest first; one that
// finds no place gets its next smaller size; what is free then goes to whoever gains the most from
// it.
void fit_to_nodes(const Ladders &ladders, const EmptyNodes &nodes, std::vector<Level> &levels);

// The first job, by rank, that was given GPUs and found no place for them; kNobody: none.
inline constexpr int kNobody = -1;
[[nodiscard]] int first_dropped(const std::vector<Level> &wanted, const std::vector<Level> &levels);

}  // namespace ringrt::policy
