// SPDX-License-Identifier: BSD-3-Clause
// Places the sizes of a proposal on the nodes.
#pragma once

#include <vector>

#include "slurm_plugin/policy/engine/proposal.h"

namespace ringrt::policy {

// Places unchanged jobs where they are, and the others by size, the largest first. A job that finds
// no place gets its next smaller size. GPUs that are then free go to the job that gains the most
// from them.
void fit_to_nodes(const SizeTable &table, const EmptyNodes &nodes, std::vector<Level> &levels);

// The first job, by rank, that was given GPUs and found no place for them; kNone: no such job.
[[nodiscard]] int first_dropped(const std::vector<Level> &wanted, const std::vector<Level> &levels);

}  // namespace ringrt::policy
