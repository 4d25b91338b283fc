// SPDX-License-Identifier: BSD-3-Clause
// Nodes with several GPU types, such as MIG slices of different sizes. A job that requests one type
// gets none of the others, so each type is a part of the node with a record of its own
// (NodeRecord). The parts share the node's CPUs and memory. Everything that goes back to Slurm
// names nodes: the record that stands at the node's place. Pure.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

using TypedGpus = std::pair<std::string, int>;

// Gives the node at this index a record for each type: the first stays, the others are appended.
// Nothing changes for a node of one type.
void split_by_type(std::vector<NodeRecord> &nodes, std::size_t index,
                   const std::vector<TypedGpus> &types);

// The record that stands at the node's place.
[[nodiscard]] int node_of(std::span<const NodeRecord> nodes, int part);

// (index, GPUs) with one entry for each node.
[[nodiscard]] std::vector<std::pair<int, int>> on_nodes(
    const std::vector<std::pair<int, int>> &gpus_on_node, std::span<const NodeRecord> nodes);

[[nodiscard]] inline bool has_one_type(const NodeRecord &node) {
    return node.part_of < 0 && node.parts.empty();
}

// The records of a node, from that at its place, or of the node to which this part belongs.
[[nodiscard]] std::vector<int> all_parts(std::span<const NodeRecord> nodes, int node);

// How many GPUs of this type a job of several types requests.
[[nodiscard]] int gpus_of_type(const JobRecord &job, const std::string &type);

// The same job of several types with as many GPUs of each type on every one of these nodes.
[[nodiscard]] JobRecord spread_evenly(const JobRecord &job, int nodes);

// Whether the job is placed by a node and not by its parts: it requests no type, or several at
// once, or whole nodes.
[[nodiscard]] inline bool takes_all_types(const JobRecord &job) {
    return job.gpu_type.empty() || job.whole_nodes;
}

}  // namespace ringrt::controller
