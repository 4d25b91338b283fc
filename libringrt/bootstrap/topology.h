// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share a node, and each rank's endpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "libringrt/base/socket.h"
#include "libringrt/bootstrap/bootstrap.h"

namespace ringrt {

struct Topology {
    // A host name and the addresses of its ranks' endpoints; ranks share those that are equal.
    struct Host {
        std::string name;
        std::vector<std::string> addresses;
    };
    std::vector<Host> hosts;
    std::vector<uint16_t> host_of_rank, port_of_rank;  // by rank
    std::vector<int> node_of_rank;  // by rank; nodes are numbered by their lowest rank
    int nodes = 1;

    [[nodiscard]] Endpoint endpoint(int rank) const;
    [[nodiscard]] std::vector<int> ranks_of(int node) const;  // ascending
    [[nodiscard]] std::vector<int> ranks_per_node() const;    // by node
    // All nodes have the same number of ranks, and a node's ranks are consecutive (as with Slurm's
    // block distribution), so that partial sums can pass from node to node.
    [[nodiscard]] bool regular() const;
};

// Collective. Ranks share a node if boot id, node label (slurm_env.h) and the device of /dev/shm
// agree; whether they can map memory together is tested later. RINGRT_MISMATCH if only some ranks
// would use TCP between nodes.
Status find_topology(const RankContext &self, const std::string &label, Bootstrap *bootstrap,
                     int data_port, bool by_callbacks, Topology *out);

}  // namespace ringrt
