// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/node_parts.h"

#include <algorithm>

namespace ringrt::controller {

void split_by_type(std::vector<NodeRecord> &nodes, std::size_t index,
                   const std::vector<TypedGpus> &types) {
    if (types.size() < 2) return;
    for (std::size_t k = 1; k < types.size(); ++k) {
        NodeRecord part = nodes[index];
        part.gpus = types[k].second;
        part.gpu_types = {types[k].first};
        part.part_of = static_cast<int>(index);
        part.parts.clear();
        nodes[index].parts.push_back(static_cast<int>(nodes.size()));
        nodes.push_back(std::move(part));
    }
    nodes[index].gpus = types[0].second;
    nodes[index].gpu_types = {types[0].first};
}

int node_of(std::span<const NodeRecord> nodes, int part) {
    if (part < 0 || static_cast<std::size_t>(part) >= nodes.size()) return part;
    const int node = nodes[static_cast<std::size_t>(part)].part_of;
    return node < 0 ? part : node;
}

std::vector<std::pair<int, int>> on_nodes(const std::vector<std::pair<int, int>> &gpus_on_node,
                                          std::span<const NodeRecord> nodes) {
    std::vector<std::pair<int, int>> out;
    const auto is_split = [&](int node) {
        return node >= 0 && static_cast<std::size_t>(node) < nodes.size() &&
               !nodes[static_cast<std::size_t>(node)].parts.empty();
    };
    for (const auto &[part, gpus] : gpus_on_node) {
        const int node = node_of(nodes, part);
        const auto same =
            is_split(node) ? std::ranges::find(out, node, &std::pair<int, int>::first) : out.end();
        if (same == out.end())
            out.emplace_back(node, gpus);
        else
            same->second += gpus;
    }
    return out;
}

std::vector<int> all_parts(std::span<const NodeRecord> nodes, int node) {
    std::vector<int> out{node_of(nodes, node)};
    if (out[0] < 0 || static_cast<std::size_t>(out[0]) >= nodes.size()) return out;
    const std::vector<int> &others = nodes[static_cast<std::size_t>(out[0])].parts;
    out.insert(out.end(), others.begin(), others.end());
    return out;
}

int gpus_of_type(const JobRecord &job, const std::string &type) {
    const auto found = std::ranges::find(job.gpus_of_types, type, &TypedGpus::first);
    return found == job.gpus_of_types.end() ? 0 : found->second;
}

JobRecord spread_evenly(const JobRecord &job, int nodes) {
    JobRecord out = job;
    out.any_shares = false;
    out.nodes_requested = nodes;
    out.gpus_requested = 0;
    for (auto &[type, gpus] : out.gpus_of_types) {
        gpus = (gpus + nodes - 1) / nodes * nodes;
        out.gpus_requested += gpus;
    }
    return out;
}

}  // namespace ringrt::controller
