// SPDX-License-Identifier: BSD-3-Clause
// Chooses the nodes of a job's GPUs. Slurm does this on a real cluster.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ringrt::sim {

enum class Placement : uint8_t {
    // Up to a node's GPUs: on one node, the fullest that fits; more: on whole nodes. A job that
    // keeps its size stays where it is, unless a larger job needs its place: then it moves (a
    // restart). This always succeeds for powers of two that fit in sum: a buddy system without
    // fixed addresses, where jobs come in descending size and so never split a node without need.
    pack,
    // As pack, but a job on several nodes is spread evenly over them, like the plugin's requests
    // (policy/engine/packing.h): six GPUs on nodes of four become three and three.
    pack_evenly,
    // As pack, but running jobs never move: as Slurm places jobs.
    pack_still,
    // From the node with the most free GPUs on, as Pollux's reference simulator places Tiresias (in
    // order of arrival) and Optimus (small jobs first). Running jobs never move.
    spread,
    spread_small_first,
};

using Seats = std::vector<std::pair<int, int>>;  // (node, GPUs), nodes in rank order

class Placer {
  public:
    Placer(int nodes, int gpus_per_node, Placement rule)
        : gpus_per_node_(gpus_per_node), rule_(rule), free_(nodes, gpus_per_node) {}

    // Seats `want[i]` GPUs for each job in the order of `want`, and changes `seats[i]` as little as
    // the rule allows. A job that keeps its size and does not move keeps its exact seats. Throws
    // std::logic_error if the sizes exceed all GPUs.
    void place(const std::vector<int> &want, std::vector<Seats> &seats);

    // Frees a job's seats.
    void release(Seats &seats);

  private:
    void seat_packed(std::size_t job, const std::vector<int> &want, std::vector<Seats> &seats,
                     std::vector<std::size_t> &waiting);
    void seat_spread(int gpus, Seats &seats);
    void take(Seats &seats, int node, int gpus);
    [[nodiscard]] int share_of(int gpus) const;
    [[nodiscard]] int cheapest_node(int gpus, const std::vector<int> &movable) const;

    int gpus_per_node_;
    Placement rule_;
    std::vector<int> free_;
};

}  // namespace ringrt::sim
