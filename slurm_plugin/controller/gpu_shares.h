// SPDX-License-Identifier: BSD-3-Clause
// GPUs that jobs share through gres/shard or gres/mps. No job gets such a GPU as a whole, and a job
// with shares of one kind gets no GPU that is used as a whole or through the other kind. Slurm
// places a job's shares of a node on one GPU, and all MPS of a node. Pure.
#pragma once

#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

class GpuShares {
  public:
    explicit GpuShares(const Observation &observation);

    // How many GPUs of the node are in use through shares.
    [[nodiscard]] int shared_gpus(int node) const;
    // Of `gpus`, how many whole GPUs a job needs there: none if its shares have room on a GPU that
    // is shared already; kNever if the node cannot take them.
    static constexpr int kNever = 1 << 20;
    [[nodiscard]] int whole_gpus(const JobRecord &job, int node, int gpus) const;
    // The job gets its shares there: on a GPU that is shared already, or on one more.
    void take(const JobRecord &job, int node);

  private:
    struct Gpu {
        int index = -1;  // Slurm's; -1: not known
        std::string kind;
        int free = 0;
    };
    void use(const GpuShare &share, int node, int index);
    // Index into the node's; -1: none.
    [[nodiscard]] int with_room(const GpuShare &share, int node) const;
    [[nodiscard]] int all_of(const std::string &kind, int node) const;
    [[nodiscard]] bool is_node(int node) const {
        return node >= 0 && static_cast<std::size_t>(node) < gpus_.size();
    }

    const std::vector<NodeRecord> &nodes_;
    std::vector<std::vector<Gpu>> gpus_;  // in use through shares, for each node
};

// Whether a GPU of the node has as many shares as the job requests.
[[nodiscard]] bool offers_share(const NodeRecord &node, const GpuShare &share);

}  // namespace ringrt::controller
