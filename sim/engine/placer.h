// SPDX-License-Identifier: BSD-3-Clause
// Which nodes a job's GPUs are on. Slurm decides this on a real cluster; here two stand-ins do.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ringrt::sim {

enum class Placement : uint8_t {
    // Up to a node's GPUs on one node, the fullest that fits; more on whole nodes. A job that keeps
    // its size stays where it is, unless a larger one needs its place: then it moves (a restart).
    // For powers of two that fit in sum this always succeeds (a buddy system without its fixed
    // addresses: jobs come in descending size, so that free places never split a node in vain).
    pack,
    // The same, but what takes several nodes is shared out evenly among them, as the plugin's
    // requests are (policy/engine/packing.h): six GPUs on nodes of four are three and three.
    pack_evenly,
    // As pack, but nothing that runs is moved: as Slurm places jobs.
    pack_still,
    // From the node with the most free GPUs, wherever that leads, as the reference simulator of
    // Pollux places Tiresias (in order of arrival) and Optimus (small jobs first). Nothing moves.
    spread,
    spread_small_first,
};

using Seats = std::vector<std::pair<int, int>>;  // (node, GPUs), nodes in the order of ranks

class Placer {
  public:
    Placer(int nodes, int gpus_per_node, Placement rule)
        : gpus_per_node_(gpus_per_node), rule_(rule), free_(nodes, gpus_per_node) {}

    // Seats `want[i]` GPUs for each job, changing `seats[i]` as little as the rule allows. A job
    // whose size is unchanged and which was not moved keeps its very seats. In the order of `want`.
    // Throws std::logic_error where the sizes add up to more than there is.
    void place(const std::vector<int> &want, std::vector<Seats> &seats);

    // Gives a job's seats back.
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
