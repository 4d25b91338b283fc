// SPDX-License-Identifier: BSD-3-Clause
// One whole proposal of sizes: first GPUs, greedy growth, and a place on the nodes for all of it.
#pragma once

#include <optional>
#include <vector>

#include "slurm_plugin/policy/ladder.h"
#include "slurm_plugin/policy/placement.h"

namespace ringrt::policy {

// What a proposal is worth: jobs served first, then the sum of their values.
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

enum class Start : uint8_t {
    from_min,      // as in the paper: everybody's size is decided anew
    from_present,  // running jobs keep theirs, or grow
};

// Nothing where it would be no better than `other`, as can be told at once: it serves fewer jobs, or
// wants the same.
[[nodiscard]] std::optional<Proposal> propose(const Ladders &ladders, const EmptyNodes &nodes,
                                              Start start, const Proposal *other = nullptr);

// Places the unchanged jobs where they are and the others by size, the largest first; one that
// finds no place gets its next smaller size; what is free then goes to whoever gains the most from
// it.
void fit_to_nodes(const Ladders &ladders, const EmptyNodes &nodes, std::vector<Level> &levels);

[[nodiscard]] ProposalWorth worth_of(const Ladders &ladders, const std::vector<Level> &levels);

[[nodiscard]] bool is_better(const ProposalWorth &a, const ProposalWorth &b);

// Can all stay as they are (on a crowded node, with what was left to them)?
[[nodiscard]] bool fits_as_it_is(const Ladders &ladders, const EmptyNodes &nodes);

}  // namespace ringrt::policy
