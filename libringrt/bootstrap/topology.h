// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share a node, and how each is reached.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/bootstrap.h"

namespace ringrt {

struct Topology {
    std::vector<std::string> hosts;   // by rank
    std::vector<int> node_of_rank;    // by rank; nodes are numbered by their lowest rank
    std::vector<Endpoint> endpoints;  // by rank
    int nodes = 1;

    [[nodiscard]] std::vector<int> ranks_of(int node) const;  // ascending
    // All nodes have the same number of ranks and these follow one another (as Slurm's block
    // distribution gives them), so that partial sums can pass from node to node.
    [[nodiscard]] bool regular() const;
};

// Collective. Ranks share a node where boot id, node label (slurm_env.h) and the device of /dev/shm
// agree; what they really can map is tried out later. RINGRT_MISMATCH where some ranks would speak
// TCP between nodes and others not.
Status find_topology(const RankContext &self, Bootstrap *bootstrap, int data_port,
                     bool by_callbacks, Topology *out);

}  // namespace ringrt
