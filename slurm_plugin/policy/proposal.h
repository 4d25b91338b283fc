// SPDX-License-Identifier: BSD-3-Clause
// One whole proposal of sizes: first GPUs, greedy growth, and a place on the nodes for all of it.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "slurm_plugin/policy/fitting.h"
#include "slurm_plugin/policy/ladder.h"
#include "slurm_plugin/policy/placement.h"

namespace ringrt::policy {

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

// Nothing where it would be no better than `other`, as can be told at once: it serves fewer jobs,
// or wants the same. `likely` is grow's.
[[nodiscard]] std::optional<Proposal> propose(
    const Ladders &ladders, const EmptyNodes &nodes, Start start, const Proposal *other = nullptr,
    double likely = std::numeric_limits<double>::infinity());

// The proposal from the present sizes where it is seen to be the one from MIN too, in O(n); nothing
// elsewhere. `refused` is the largest gain of a step that found no GPUs.
struct Either {
    std::optional<Proposal> proposal;
    double refused = std::numeric_limits<double>::infinity();
};
[[nodiscard]] Either propose_either(const Ladders &ladders, const EmptyNodes &nodes);

// Can all stay as they are (on a crowded node, with what was left to them)?
[[nodiscard]] bool fits_as_it_is(const Ladders &ladders, const EmptyNodes &nodes);

}  // namespace ringrt::policy
