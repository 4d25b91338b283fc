// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/rigid_room.h"

#include <algorithm>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/reach.h"

namespace ringrt::controller {

using policy::NodeShare;

RigidRoom::RigidRoom(Pool &pool, const Observation &observation, NodeRoom &node_room)
    : lenders(observation.nodes.size()),
      pool_(pool),
      nodes_(observation.nodes),
      node_room_(node_room),
      room_(pool.capacity.node_gpus) {
    for (std::size_t node = 0; node < room_.size(); ++node)
        if (pool.free.node_gpus[node] < 0) room_[node] = pool.asleep_on(node);
}

// The index is Slurm's: after a configuration change its node may no longer exist.
void RigidRoom::subtract(int part, int gpus) {
    if (part >= 0 && static_cast<std::size_t>(part) < room_.size())
        room_[static_cast<std::size_t>(part)] -= gpus;
}

bool RigidRoom::has_one_type(int node) const {
    return controller::has_one_type(nodes_[static_cast<std::size_t>(node)]);
}

// Those whose GPUs the job can get; none of a part whose node stands for all, or of a node that
// lacks a type.
std::vector<int> RigidRoom::own_parts(const JobRecord &rigid, int node) const {
    if (!takes_all_types(rigid)) return {node};
    if (nodes_[static_cast<std::size_t>(node)].part_of >= 0) return {};
    std::vector<int> parts = all_parts(nodes_, node);
    if (rigid.gpus_of_types.empty()) return parts;
    std::erase_if(parts, [&](int part) { return of_type(rigid, part) == 0; });
    if (parts.size() != rigid.gpus_of_types.size()) parts.clear();
    return parts;
}

// How many GPUs of the part a job of several types gets on each node (spread_evenly).
int RigidRoom::of_type(const JobRecord &rigid, int part) const {
    const auto &types = nodes_[static_cast<std::size_t>(part)].gpu_types;
    return types.empty() ? 0
                         : gpus_of_type(rigid, types.front()) / std::max(1, rigid.nodes_requested);
}

int RigidRoom::free_of(int part) const {
    const auto index = static_cast<std::size_t>(part);
    return std::max(0, pool_.free.node_gpus[index]) + pool_.asleep_on(index);
}

int RigidRoom::room_of(int part) const {
    return std::max(0, room_[static_cast<std::size_t>(part)]);
}

int RigidRoom::free_on(const JobRecord &rigid, int node) const {
    if (has_one_type(node)) return free_of(node);
    int gpus = 0;
    for (const int part : own_parts(rigid, node)) {
        const int free = free_of(part);
        gpus += rigid.gpus_of_types.empty() ? free : std::min(free, of_type(rigid, part));
    }
    return gpus;
}

int RigidRoom::room_on(const JobRecord &rigid, int node) const {
    if (has_one_type(node)) return room_of(node);
    int gpus = 0;
    for (const int part : own_parts(rigid, node)) {
        const int room = room_of(part);
        if (!rigid.gpus_of_types.empty() && room < of_type(rigid, part)) return 0;
        gpus += room;
    }
    return gpus;
}

bool RigidRoom::is_candidate(const JobRecord &rigid, int node) const {
    const auto index = static_cast<std::size_t>(node);
    const bool is_closed = pool_.free.node_gpus[index] < 0 && !nodes_[index].asleep;
    if (!pool_.has_node[index] || is_closed) return false;
    if (has_one_type(node)) {
        if (!rigid.gpus_of_types.empty() || !may_use(rigid, nodes_[index], node)) return false;
    } else {
        const std::vector<int> parts = own_parts(rigid, node);
        if (std::ranges::none_of(parts, [&](int part) {
                return may_use(rigid, nodes_[static_cast<std::size_t>(part)], part);
            }))
            return false;
    }
    return room_on(rigid, node) > 0 ||
           node_room_.demand(rigid, node, rigid.gpus_requested).gpus == 0;
}

std::optional<int> RigidRoom::kept(const JobRecord &rigid, int node,
                                   const NodeDemand &demand) const {
    const NodeRecord &record = nodes_[static_cast<std::size_t>(node)];
    if (is_of_another(rigid, record)) {  // all jobs there have to leave
        const bool can_be_emptied = has_one_type(node) && room_of(node) >= record.gpus;
        return can_be_emptied ? std::optional(record.gpus) : std::nullopt;
    }
    if (has_one_type(node)) return node_room_.kept_gpus(node, demand, free_of(node), room_of(node));
    int free = 0, room = 0;
    for (const int part : all_parts(nodes_, node)) {
        free += free_of(part);
        room += room_of(part);
    }
    return node_room_.kept_gpus(node, demand, free, room, demand.gpus - free_on(rigid, node));
}

std::optional<int> RigidRoom::kept_for(const JobRecord &rigid, int node, int gpus) const {
    const NodeDemand demand = node_room_.demand(rigid, node, gpus);
    if (demand.gpus > room_on(rigid, node)) return std::nullopt;
    return kept(rigid, node, demand);
}

// Where the kept GPUs are: the job's on its own parts, and of the others first the idle ones.
std::vector<NodeShare> RigidRoom::split(const JobRecord &rigid, int node, int gpus,
                                        int kept) const {
    if (has_one_type(node)) return {{node, kept}};
    const std::vector<int> own = own_parts(rigid, node), all = all_parts(nodes_, node);
    std::vector<NodeShare> out;
    for (const int part : all) out.emplace_back(part, 0);
    const auto add = [&](const std::vector<int> &parts, bool lent_too, int wanted) {
        for (auto &[part, share] : out) {
            if (std::ranges::find(parts, part) == parts.end()) continue;
            const int most = lent_too ? room_of(part) : std::min(room_of(part), free_of(part));
            const int more = std::clamp(most - share, 0, std::max(0, wanted));
            share += more;
            wanted -= more;
        }
        return wanted;
    };
    int left = kept - gpus;
    if (rigid.gpus_of_types.empty())
        left += add(own, true, add(own, false, gpus));
    else
        for (const int part : own)
            left += add({part}, true, add({part}, false, of_type(rigid, part)));
    for (const bool lent_too : {false, true}) left = add(all, lent_too, add(own, lent_too, left));
    return out;
}

RigidRoom::Price RigidRoom::price(const JobRecord &rigid, int node, int gpus, int kept) const {
    Price out;
    for (const auto &[part, share] : split(rigid, node, gpus, kept)) {
        const int lacks = share - std::min(share, free_of(part));
        out.cost += lenders.cost(part, lacks);
        out.lacks += lacks;
    }
    return out;
}

std::vector<NodeShare> RigidRoom::promise(const JobRecord &rigid, int node,
                                          const NodeDemand &demand) {
    const int all = kept(rigid, node, demand).value_or(demand.gpus);
    std::vector<NodeShare> out = split(rigid, node, demand.gpus, all);
    for (auto &[part, share] : out) {
        lenders.take(part, share - std::min(share, free_of(part)));
        room_[static_cast<std::size_t>(part)] -= share;
    }
    return out;
}

void RigidRoom::promise_min(const JobRecord &job, int node, int gpus) {
    (void)promise(job, node, {.gpus = gpus});
}

void RigidRoom::give(const JobRecord &rigid, int node, int gpus) {
    const NodeDemand demand = node_room_.demand(rigid, node, gpus);
    int returned = 0;
    for (const auto &[part, share] : promise(rigid, node, demand)) {
        const auto index = static_cast<std::size_t>(part);
        returned += share - std::min(share, free_of(part));
        if (nodes_[index].asleep) {
            pool_.take_asleep(index, share);
            continue;  // it is no capacity of malleable jobs
        }
        pool_.capacity.node_gpus[index] -= share;
        int &free = pool_.free.node_gpus[index];
        free = std::max(std::min(0, free), free - share);
        pool_.capacity.kept_for_rigid += share;
    }
    node_room_.take(rigid, node, demand, returned);
}

}  // namespace ringrt::controller
