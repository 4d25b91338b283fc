// SPDX-License-Identifier: BSD-3-Clause
// The number of nodes on which a job's GPUs are shared evenly.
#pragma once

namespace ringrt::model {

// The fewest nodes that can each have the same number of the `gpus`, at most `per_node` (at least
// 1): 16 GPUs take four nodes of six. Slurm can start the same number of tasks on each node, but
// not a different number on each: with uneven shares, some ranks would have no GPU of their own.
[[nodiscard]] constexpr int even_nodes(int gpus, int per_node) {
    if (gpus <= per_node) return 1;
    int nodes = (gpus - 1) / per_node + 1;
    while (gpus % nodes != 0) ++nodes;
    return nodes;
}

}  // namespace ringrt::model
