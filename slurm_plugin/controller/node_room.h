// SPDX-License-Identifier: BSD-3-Clause
// CPUs and memory of the nodes, for rigid jobs that lack these or whole nodes, and not only GPUs.
// Malleable jobs hold CPUs and memory with their GPUs. So for such a job they return GPUs, and
// leave idle GPUs alone whose CPUs it needs. A node whose CPUs are not known has enough. Also for
// jobs that need a part of a GPU (gpu_shares.h). The parts of a node with several GPU types
// (node_parts.h) share its CPUs and memory. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/gpu_shares.h"

namespace ringrt::controller {

// What a rigid job needs of one node.
struct NodeDemand {
    int gpus = 0;
    int64_t cpus = 0, mb = 0;
};

// What a running job with GPUs holds of a node with this many of its GPUs.
[[nodiscard]] NodeDemand held_with(const JobRecord &job, int gpus);

class NodeRoom {
  public:
    // may_pause: the IDs of jobs that can return their MIN as well.
    explicit NodeRoom(const Observation &observation, const std::set<uint32_t> &may_pause = {});

    // On how many nodes a job without GPUs runs at least.
    [[nodiscard]] int nodes_for(const JobRecord &rigid) const;

    // Of a job that gets this many GPUs of the node, or none if its shares have room on a GPU that
    // jobs share already.
    [[nodiscard]] NodeDemand demand(const JobRecord &rigid, int node, int gpus) const;

    // How many GPUs of the node malleable jobs must not hold so that the demand fits there. free:
    // idle ones; room: these and the borrowed ones; least: how many are returned at least, because
    // the idle ones are of other types. Nothing: not even all of them suffice.
    [[nodiscard]] std::optional<int> kept_gpus(int node, const NodeDemand &demand, int free,
                                               int room, int least = 0) const;

    // Whether the demand fits once all jobs with GPUs have left the node. The end of a job without
    // GPUs is not foreseen.
    [[nodiscard]] bool fits_without_gpu_jobs(int node, const NodeDemand &demand) const;

    // The job's demand is met there after this many GPUs have been returned.
    void take(const JobRecord &rigid, int node, const NodeDemand &demand, int returned_gpus);

    // How many GPUs of the node are in use through shares.
    [[nodiscard]] int shared_gpus(int node) const { return shares_.shared_gpus(node); }

    // How many of the idle GPUs malleable jobs can use with the CPUs and the memory that are left.
    [[nodiscard]] int usable_gpus(int node, int idle) const;

    // How many GPUs malleable jobs can hold there: those that they hold, and these.
    [[nodiscard]] int gpus_for_malleable(int node) const;

    // Whether a job without GPUs could start when `leaving` leaves its nodes.
    [[nodiscard]] bool could_follow(const Observation &observation, const JobRecord &rigid,
                                    const JobRecord &leaving) const;

  private:
    // Of CPUs and of memory alike; in CPUs and MB.
    struct Amount {
        int64_t all = 0;          // 0: not known, and never short
        int64_t free = 0;         // now, less what was taken
        int64_t of_gpu_jobs = 0;  // held by jobs with GPUs
        int64_t lent = 0;         // held by malleable jobs, in proportion to their GPUs
        // The same of jobs that request it per node and have no MIN there: freed with their last
        // GPU.
        int64_t lent_whole = 0;
        [[nodiscard]] bool has(int64_t wanted) const { return all <= 0 || free >= wanted; }
    };
    struct Node {
        Amount cpus, mb;
        int lent_gpus = 0, borrowed_gpus = 0;  // held by malleable jobs, and how many above MIN
        int threads = 1;
    };
    [[nodiscard]] const Node *at(int part) const;
    [[nodiscard]] static int64_t returned(const Amount &amount, const Node &node, int gpus);
    [[nodiscard]] int usable_after(const Node &node, const NodeDemand &demand, int idle) const;

    void add(const JobRecord &job, int min);

    const std::vector<NodeRecord> &records_;
    std::vector<Node> nodes_;  // an entry at the node's place only, if it has several GPU types
    GpuShares shares_;
    int64_t cpus_most_ = 0;                             // of a node; 0: none is known
    std::optional<int64_t> cpus_per_gpu_, mb_per_gpu_;  // the least that a malleable job needs
};

}  // namespace ringrt::controller
