// SPDX-License-Identifier: GPL-2.0-or-later
// Shares of GPUs (gres/shard, gres/mps) in Slurm's texts: "gres:shard:2" and "gres/mps:50" in a
// request, "shard:16" on a node, and of an allocation "shard:2(IDX:0)" (22.05) or
// "shard:2(2/4,0/4)".
#pragma once

#include <string_view>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// The first such item of a list; amount 0: it has none.
[[nodiscard]] controller::GpuShare gpu_share(std::string_view list);

// What each GPU of a node with this list and so many GPUs can be shared as.
[[nodiscard]] std::vector<controller::GpuShare> shares_of_a_gpu(std::string_view list, int gpus);

// Which shared GPUs an allocation on a node has.
[[nodiscard]] std::vector<controller::HeldShare> held_shares(std::string_view list, int node);

}  // namespace ringrt::slurm
