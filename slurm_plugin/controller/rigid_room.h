// SPDX-License-Identifier: BSD-3-Clause
// What rigid jobs can get of each node of a pool: its idle GPUs, and those that malleable jobs have
// borrowed. A job that requests no GPU type gets GPUs of all parts of a node (node_parts.h), and is
// placed by the record at the node's place; so is one that requests several types at once. CPUs and
// memory come back from any part. Pure.
#pragma once

#include <optional>
#include <vector>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/lenders.h"
#include "slurm_plugin/controller/node_room.h"

namespace ringrt::controller {

class RigidRoom {
  public:
    RigidRoom(Pool &pool, const Observation &observation, NodeRoom &node_room);

    Lenders lenders;
    // For each part: the GPUs that rigid jobs may have.
    [[nodiscard]] const std::vector<int> &room() const { return room_; }
    void subtract(int part, int gpus);

    // The following are about a node for the job, and never less than 0.
    [[nodiscard]] bool is_candidate(const JobRecord &rigid, int node) const;
    [[nodiscard]] int free_on(const JobRecord &rigid, int node) const;
    [[nodiscard]] int room_on(const JobRecord &rigid, int node) const;
    // How many of the node's GPUs are kept from malleable jobs if the job gets this many; nothing:
    // it lacks GPUs, CPUs or memory there even if all borrowed GPUs are returned.
    [[nodiscard]] std::optional<int> kept_for(const JobRecord &rigid, int node, int gpus) const;
    // How many of these GPUs are not idle, and what their return costs, if `kept` are kept so that
    // the job gets `gpus`.
    struct Price {
        Lenders::Cost cost;
        int lacks = 0;
    };
    [[nodiscard]] Price price(const JobRecord &rigid, int node, int gpus, int kept) const;
    // The MIN of a malleable job is placed there: no later job gets these GPUs.
    void promise_min(const JobRecord &job, int node, int gpus);
    // The job gets this many there: no malleable job has them.
    void give(const JobRecord &rigid, int node, int gpus);

  private:
    [[nodiscard]] bool has_one_type(int node) const;
    [[nodiscard]] std::vector<int> own_parts(const JobRecord &rigid, int node) const;
    [[nodiscard]] int of_type(const JobRecord &rigid, int part) const;
    [[nodiscard]] int free_of(int part) const;
    [[nodiscard]] int room_of(int part) const;
    [[nodiscard]] std::optional<int> kept(const JobRecord &rigid, int node,
                                          const NodeDemand &demand) const;
    [[nodiscard]] std::vector<policy::NodeShare> split(const JobRecord &rigid, int node, int gpus,
                                                       int kept) const;

    std::vector<policy::NodeShare> promise(const JobRecord &rigid, int node,
                                           const NodeDemand &demand);

    Pool &pool_;
    const std::vector<NodeRecord> &nodes_;
    NodeRoom &node_room_;
    std::vector<int> room_;
};

}  // namespace ringrt::controller
