// SPDX-License-Identifier: BSD-3-Clause
// One complete proposal of sizes, and its worth.
#pragma once

#include <vector>

#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/engine/size_table.h"

namespace ringrt::policy {

// What a decision is worth: first the jobs served, then the sum of their values.
struct ProposalWorth {
    int served = 0;
    double sum = 0;
};

struct Proposal {
    std::vector<Level> levels;  // by rank
    std::vector<Level> wanted;  // before fitting to the nodes
    ProposalWorth worth;
    double bound = 0;  // no decision that serves as many jobs is worth more
};

inline constexpr int kRounds = 16;  // attempts at a proposal without overtaking; two are rare
inline constexpr int kNone = -1;    // no rank

[[nodiscard]] ProposalWorth worth_of(const SizeTable &table, const std::vector<Level> &levels);
[[nodiscard]] bool is_better(const ProposalWorth &a, const ProposalWorth &b);

// The first job, by rank, that was given GPUs and found no nodes for them, if a pending job behind
// it is served; kNone: no such job.
[[nodiscard]] int overtaken(const SizeTable &table, const Proposal &proposal);

// Whether all jobs can keep their sizes (on an overcommitted node, what is left to them). `room`
// contains no jobs yet.
[[nodiscard]] bool fits_as_it_is(const SizeTable &table, BlockBound room);

}  // namespace ringrt::policy
