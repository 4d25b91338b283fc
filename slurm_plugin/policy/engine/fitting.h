// SPDX-License-Identifier: BSD-3-Clause
// A place on the nodes for the sizes of a proposal.
#pragma once

#include <vector>

#include "slurm_plugin/policy/engine/proposal.h"

namespace ringrt::policy {

// Places the unchanged jobs where they are and the others by size, the largest first; one that
// finds no place gets its next smaller size; what is free then goes to whoever gains the most from
// it.
void fit_to_nodes(const SizeTable &table, const EmptyNodes &nodes, std::vector<Level> &levels);

// The first job, by rank, that was given GPUs and found no place for them; kNone: none.
[[nodiscard]] int first_dropped(const std::vector<Level> &wanted, const std::vector<Level> &levels);

}  // namespace ringrt::policy
