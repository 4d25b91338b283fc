// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/capacity.h"

#include <algorithm>
#include <map>
#include <utility>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/node_room.h"
#include "slurm_plugin/controller/pausing.h"
#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/rigid_reservation.h"

namespace ringrt::controller {

namespace {

// Partitions that share a node belong to one pool (union-find over their names). So do those of a
// paused job: Slurm would start a pending job in any of them, but only the controller resumes it.
class PoolNames {
  public:
    explicit PoolNames(const std::vector<NodeRecord> &nodes) {
        for (const NodeRecord &node : nodes) {
            if (node.partitions.empty()) one_pool_ = true;
            for (const std::string &name : node.partitions) join(node.partitions[0], name);
        }
    }

    // The names of "a,b" that a node has.
    void join_all(std::string_view partitions) {
        std::string before;
        for (;;) {
            const std::size_t comma = partitions.find(',');
            const std::string name(partitions.substr(0, comma));
            if (root_.contains(name)) {
                join(before.empty() ? name : before, name);
                before = name;
            }
            if (comma == std::string_view::npos) return;
            partitions.remove_prefix(comma + 1);
        }
    }

    // The pool of "a" or "a,b": that of the first name that a node has; -1 if no node has any.
    int find(std::string_view partitions) {
        if (one_pool_ || root_.empty()) return 0;
        for (;;) {
            const std::size_t comma = partitions.find(',');
            const std::string name(partitions.substr(0, comma));
            if (root_.contains(name))
                return number_.try_emplace(top(name), static_cast<int>(number_.size()))
                    .first->second;
            if (comma == std::string_view::npos) return -1;
            partitions.remove_prefix(comma + 1);
        }
    }

  private:
    std::string top(std::string name) {
        while (root_[name] != name) name = root_[name] = root_[root_[name]];
        return name;
    }

    void join(const std::string &a, const std::string &b) {
        root_.try_emplace(a, a);
        root_.try_emplace(b, b);
        root_[top(a)] = top(b);
    }

    bool one_pool_ = false;
    std::map<std::string, std::string> root_;
    std::map<std::string, int> number_;
};

struct Holdings {
    std::vector<int> rigid, malleable;  // GPUs per node
};

// A malleable job in no pool is left alone, like a rigid one.
Holdings holdings(const Observation &observation, PoolNames &names) {
    Holdings out{std::vector<int>(observation.nodes.size()),
                 std::vector<int>(observation.nodes.size())};
    for (const JobRecord &job : observation.jobs) {
        if (job.gpus_on_node.empty()) continue;
        const bool may_resize = job.intent && names.find(job.partition) >= 0;
        std::vector<int> &held = may_resize ? out.malleable : out.rigid;
        for (const auto &[node, gpus] : job.gpus_on_node)
            if (node >= 0 && static_cast<std::size_t>(node) < held.size()) held[node] += gpus;
    }
    return out;
}

// Slurm gives a job no reason until it next scans the queue, at most this long.
constexpr double kNotLookedAt_s = 3;

Pool &pool_at(std::vector<Pool> &pools, int index, std::size_t nodes) {
    while (pools.size() <= static_cast<std::size_t>(index)) {
        pools.emplace_back();
        pools.back().capacity.node_gpus.assign(nodes, 0);
        pools.back().free.node_gpus.assign(nodes, 0);
        pools.back().asleep.assign(nodes, 0);
        pools.back().has_node.assign(nodes, false);
    }
    return pools[static_cast<std::size_t>(index)];
}

// Whether one of a pool's nodes differs from the others for a job.
bool are_mixed(const std::vector<NodeRecord> &nodes, const std::vector<bool> &of_pool) {
    const NodeRecord *first = nullptr;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!of_pool[i] || nodes[i].gpus <= 0) continue;
        if (first == nullptr) first = &nodes[i];
        if (first->partitions != nodes[i].partitions || first->gpu_types != nodes[i].gpu_types ||
            nodes[i].reserved_from_s > 0 || nodes[i].owner)
            return true;
    }
    return false;
}

// Idle GPUs without CPUs or memory are of no use.
void drop_unusable(Pool &pool, const NodeRoom &node_room) {
    for (std::size_t i = 0; i < pool.free.node_gpus.size(); ++i) {
        int &free = pool.free.node_gpus[i];
        if (!pool.has_node[i] || free <= 0) continue;
        const int unusable = free - node_room.usable_gpus(static_cast<int>(i), free);
        free -= unusable;
        pool.capacity.node_gpus[i] -= unusable;
    }
}

}  // namespace

policy::Capacity capacity_for(const Pool &pool, const Observation &observation,
                              const std::vector<MalleableJob> &jobs,
                              std::vector<policy::Job> &input) {
    const std::vector<NodeRecord> &nodes = observation.nodes;
    const bool has_parts = !nodes.empty() && nodes.back().part_of >= 0;
    if (!has_parts || std::ranges::any_of(pool.jobs, [&](std::size_t i) {
            return !takes_all_types(*jobs[i].record);
        }))
        return pool.capacity;
    policy::Capacity out = pool.capacity;
    std::vector<int> whole(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto node = static_cast<std::size_t>(node_of(nodes, static_cast<int>(i)));
        if (pool.has_node[i]) whole[node] += nodes[i].gpus;
        if (node != i) out.node_gpus[node] += std::exchange(out.node_gpus[i], 0);
    }
    out.gpus_per_node = std::ranges::max(whole);
    for (policy::Job &job : input) job.held = on_nodes(job.held, nodes);
    return out;
}

bool waits_for_room(const JobRecord &job, double now_s) {
    if (job.phase != JobPhase::pending) return false;
    const double since_s = std::max(job.submit_s, job.begin_s);
    return job.pending_reason == PendingReason::resources ||
           job.pending_reason == PendingReason::priority ||
           (job.pending_reason == PendingReason::none && now_s - since_s > kNotLookedAt_s);
}

bool has_unserved_like(const Pool &pool, const JobRecord &rigid) {
    return std::ranges::any_of(pool.unserved, [&](const JobRecord *other) {
        return have_same_nodes(*other, rigid) && other->any_shares == rigid.any_shares &&
               other->nodes_most == rigid.nodes_most &&
               other->nodes_requested == rigid.nodes_requested &&
               other->whole_nodes == rigid.whole_nodes && other->memory == rigid.memory &&
               other->gpus_requested <= rigid.gpus_requested &&
               other->cpus_requested <= rigid.cpus_requested;
    });
}

void note_unserved(Pool &pool, const JobRecord &rigid) {
    const auto found = std::ranges::find_if(
        pool.unserved, [&](const JobRecord *other) { return have_same_nodes(*other, rigid); });
    if (found == pool.unserved.end())
        pool.unserved.push_back(&rigid);
    else if (std::pair(rigid.gpus_requested, rigid.cpus_requested) <
             std::pair((*found)->gpus_requested, (*found)->cpus_requested))
        *found = &rigid;
}

bool needs_place_for_min(const MalleableJob &job, const Pool &pool, double now_s) {
    if (job.stage != Stage::eligible || job.is_resizing() ||
        job.record->gpus_requested != job.intent.gpus_min || !waits_for_room(*job.record, now_s))
        return false;
    return has_different_nodes(*job.record, pool) ||
           std::ranges::any_of(pool.asleep, [](int gpus) { return gpus > 0; });
}

std::vector<Pool> make_pools(const Observation &observation, const std::vector<MalleableJob> &jobs,
                             NodeRoom &node_room, const Options &options) {
    const std::size_t nodes = observation.nodes.size();
    PoolNames names(observation.nodes);
    for (const MalleableJob &job : jobs)
        if (gave_up_its_place(job, observation.now_s, options))
            names.join_all(job.record->partition);
    const Holdings held = holdings(observation, names);
    std::vector<Pool> pools;
    for (std::size_t i = 0; i < nodes; ++i) {
        const NodeRecord &node = observation.nodes[i];
        const int index = names.find(node.partitions.empty() ? "" : node.partitions[0]);
        Pool &pool = pool_at(pools, index, nodes);
        pool.has_node[i] = true;
        // On a node that is closing, jobs may stay but no new ones start.
        const int shared = node_room.shared_gpus(static_cast<int>(i));
        const int whole = std::max(0, node.gpus - held.rigid[i]);
        // 22.05 also gives a GPU that is shared already to one job as a whole. That job keeps it.
        const int usable = std::max(whole - shared, std::min(whole, held.malleable[i]));
        pool.capacity.node_gpus[i] = node.usable ? usable : std::min(usable, held.malleable[i]);
        pool.free.node_gpus[i] = node.usable ? std::max(0, usable - held.malleable[i]) : -1;
        pool.asleep[i] = node.asleep ? std::max(0, usable - held.malleable[i]) : 0;
        pool.capacity.gpus_per_node = std::max(pool.capacity.gpus_per_node, node.gpus);
        pool.free.gpus_per_node = pool.capacity.gpus_per_node;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const int index = names.find(jobs[i].record->partition);
        if (index < 0 || nodes == 0) continue;
        Pool &pool = pool_at(pools, index, nodes);
        pool.jobs.push_back(i);
        if (jobs[i].stage == Stage::unsized && !jobs[i].is_resizing()) pool.has_pending = true;
    }
    for (Pool &pool : pools) pool.is_mixed = are_mixed(observation.nodes, pool.has_node);
    std::map<int, std::vector<const JobRecord *>> waiting;
    for (const JobRecord &job : observation.jobs)
        if (waits_for_room(job, observation.now_s) && !job.intent)
            waiting[names.find(job.partition)].push_back(&job);
    for (std::size_t index = 0; index < pools.size(); ++index)
        for (const std::size_t i : pools[index].jobs)
            if (needs_place_for_min(jobs[i], pools[index], observation.now_s))
                waiting[static_cast<int>(index)].push_back(jobs[i].record);
    for (auto &[index, rigid] : waiting)
        if (index >= 0 && static_cast<std::size_t>(index) < pools.size())
            reserve_for_rigid(pools[static_cast<std::size_t>(index)], observation, jobs, node_room,
                              std::move(rigid), options);
    for (Pool &pool : pools) drop_unusable(pool, node_room);
    return pools;
}

}  // namespace ringrt::controller
