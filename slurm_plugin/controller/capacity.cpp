// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/capacity.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ringrt::controller {

namespace {

// Partitions that share a node belong to one pool (union-find over their names).
class PoolNames {
  public:
    explicit PoolNames(const std::vector<NodeRecord> &nodes) {
        for (const NodeRecord &node : nodes) {
            if (node.partitions.empty()) one_pool_ = true;
            for (const std::string &name : node.partitions) join(node.partitions[0], name);
        }
    }

    // The pool of "a" or "a,b"; -1 where no node has that partition.
    int find(std::string_view partitions) {
        if (one_pool_ || root_.empty()) return 0;
        const std::string name(partitions.substr(0, partitions.find(',')));
        if (!root_.contains(name)) return -1;
        return number_.try_emplace(top(name), static_cast<int>(number_.size())).first->second;
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

int sum(const std::vector<int> &values) { return std::accumulate(values.begin(), values.end(), 0); }

// The share of a running job that a rigid job of `priority` must leave to it: its MIN, on its first
// nodes; all of it where it may not be reclaimed.
std::vector<std::pair<int, int>> untouchable(const JobView &job, double priority,
                                             const Options &options) {
    const bool all = options.reclaim == Reclaim::higher_priority && job.record->priority >= priority;
    int left = all ? job.record->gpus_requested : job.intent.gpus_min;
    std::vector<std::pair<int, int>> out;
    for (const auto &[node, gpus] : job.record->gpus_on_node) {
        out.push_back({node, std::min(gpus, left)});
        left -= out.back().second;
    }
    return out;
}

// Builds one pool; `usable` are the GPUs that no rigid job holds, per node.
class Builder {
  public:
    Builder(const Observation &observation, const std::vector<JobView> &jobs, const Options &options)
        : observation_(observation), jobs_(jobs), options_(options) {}

    void keep_for_rigid(Pool &pool, std::vector<const JobRecord *> waiting) const {
        std::sort(waiting.begin(), waiting.end(), [](const JobRecord *a, const JobRecord *b) {
            if (a->priority != b->priority) return a->priority > b->priority;
            return a->submit_s != b->submit_s ? a->submit_s < b->submit_s : a->id < b->id;
        });
        for (const JobRecord *rigid : waiting) {
            const std::vector<int> nodes = nodes_for(pool, *rigid);
            if (nodes.empty()) {
                pool.waiting_rigid.push_back(rigid->gpus_requested);
                continue;
            }
            int left = rigid->gpus_requested;
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                const int share = left / static_cast<int>(nodes.size() - i);
                left -= share;
                pool.capacity.node_gpus[nodes[i]] -= share;
                int &free = pool.free.node_gpus[nodes[i]];
                free = std::max(std::min(0, free), free - share);
            }
            pool.capacity.kept_for_rigid += rigid->gpus_requested;
            pool.somebody_waits = true;
        }
    }

  private:
    // The nodes on which a waiting rigid job could start if malleable jobs gave what they borrowed, those
    // with the most free GPUs first; empty where it could not.
    [[nodiscard]] std::vector<int> nodes_for(const Pool &pool, const JobRecord &rigid) const {
        std::vector<int> room = pool.capacity.node_gpus;
        int owed = 0;  // to malleable jobs that hold nothing at present but come before this one
        for (const std::size_t index : pool.jobs) {
            const JobView &job = jobs_[index];
            if (holds_gpus(*job.record)) {
                for (const auto &[node, gpus] : untouchable(job, rigid.priority, options_))
                    room[node] -= gpus;
            } else if (is_resizing(job) || job.record->priority >= rigid.priority) {
                owed += job.intent.gpus_min;
            }
        }
        for (int &gpus : room) gpus = std::max(0, gpus);
        if (sum(room) - owed < rigid.gpus_requested) return {};

        const std::size_t count = static_cast<std::size_t>(std::max(1, rigid.nodes_requested));
        const int share = (rigid.gpus_requested + static_cast<int>(count) - 1) / static_cast<int>(count);
        std::vector<int> nodes;
        for (std::size_t i = 0; i < room.size(); ++i)
            if (room[i] >= share) nodes.push_back(static_cast<int>(i));
        if (nodes.size() < count) return {};
        std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) {
            return std::min(share, pool.free.node_gpus[a]) > std::min(share, pool.free.node_gpus[b]);
        });
        nodes.resize(count);
        return nodes;
    }

    const Observation &observation_;
    const std::vector<JobView> &jobs_;
    const Options &options_;
};

struct Holdings {
    std::vector<int> rigid, malleable;  // GPUs per node
};

Holdings holdings(const Observation &observation) {
    Holdings out{std::vector<int>(observation.nodes.size()), std::vector<int>(observation.nodes.size())};
    for (const JobRecord &job : observation.jobs) {
        if (!holds_gpus(job)) continue;
        std::vector<int> &held = is_malleable(job) ? out.malleable : out.rigid;
        for (const auto &[node, gpus] : job.gpus_on_node)
            if (node >= 0 && static_cast<std::size_t>(node) < held.size()) held[node] += gpus;
    }
    return out;
}

bool waits_for_gpus(const JobRecord &job) {
    return job.phase == JobPhase::pending && job.gpus_requested > 0 &&
           (job.waits == Waits::resources || job.waits == Waits::priority);
}

Pool &pool_at(std::vector<Pool> &pools, int index, std::size_t nodes) {
    while (pools.size() <= static_cast<std::size_t>(index)) {
        pools.emplace_back();
        pools.back().capacity.node_gpus.assign(nodes, 0);
        pools.back().free.node_gpus.assign(nodes, 0);
    }
    return pools[static_cast<std::size_t>(index)];
}

}  // namespace

std::vector<Pool> make_pools(const Observation &observation, const std::vector<JobView> &jobs,
                             const Options &options) {
    const std::size_t nodes = observation.nodes.size();
    const Holdings held = holdings(observation);
    PoolNames names(observation.nodes);
    std::vector<Pool> pools;
    for (std::size_t i = 0; i < nodes; ++i) {
        const NodeRecord &node = observation.nodes[i];
        const int index = names.find(node.partitions.empty() ? "" : node.partitions[0]);
        Pool &pool = pool_at(pools, index, nodes);
        // On a node that is going away, jobs may stay but no new ones come.
        const int usable = std::max(0, node.gpus - held.rigid[i]);
        pool.capacity.node_gpus[i] = node.usable ? usable : std::min(usable, held.malleable[i]);
        pool.free.node_gpus[i] = node.usable ? std::max(0, usable - held.malleable[i]) : -1;
        pool.capacity.gpus_per_node = std::max(pool.capacity.gpus_per_node, node.gpus);
        pool.free.gpus_per_node = pool.capacity.gpus_per_node;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const int index = names.find(jobs[i].record->partition);
        if (index < 0 || nodes == 0) continue;
        Pool &pool = pool_at(pools, index, nodes);
        pool.jobs.push_back(i);
        if (waits_for_size(jobs[i]) && !is_resizing(jobs[i]) &&
            !is_kept_back(jobs[i], observation.now_s, options))
            pool.somebody_waits = true;
    }
    std::map<int, std::vector<const JobRecord *>> waiting;
    for (const JobRecord &job : observation.jobs)
        if (waits_for_gpus(job) && !is_malleable(job)) waiting[names.find(job.partition)].push_back(&job);
    const Builder builder(observation, jobs, options);
    for (auto &[index, rigid] : waiting)
        if (index >= 0 && static_cast<std::size_t>(index) < pools.size())
            builder.keep_for_rigid(pools[static_cast<std::size_t>(index)], std::move(rigid));
    return pools;
}

}  // namespace ringrt::controller
