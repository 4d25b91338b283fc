// SPDX-License-Identifier: BSD-3-Clause
// One whole proposal of sizes, and what it is worth.
#pragma once

#include <vector>

#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/engine/size_table.h"

namespace ringrt::policy {

// What a decision is worth: jobs served first, then the sum of their values.
struct ProposalWorth {
    int served = 0;
    double sum = 0;
};

struct Proposal {
    std::vector<Level> levels;  // by rank
    std::vector<Level> wanted;  // before they were fitted to the nodes
    ProposalWorth worth;
    double bound = 0;  // no decision that serves as many is worth more than this
};

inline constexpr int kRounds =
    16;  // in which nobody may overtake one that found no nodes; two are rare
inline constexpr int kNone = -1;  // no rank

[[nodiscard]] ProposalWorth worth_of(const SizeTable &table, const std::vector<Level> &levels);
[[nodiscard]] bool is_better(const ProposalWorth &a, const ProposalWorth &b);

// The first job, by rank, that was given GPUs and found no nodes for them, where jobs behind it are
// served that waited too; kNone: there is none.
[[nodiscard]] int overtaken(const SizeTable &table, const Proposal &proposal);

// Can all stay as they are (on an overcommitted node, with what was left to them)? `room`: nobody
// in it yet.
[[nodiscard]] bool fits_as_it_is(const SizeTable &table, BlockBound room);

}  // namespace ringrt::policy
