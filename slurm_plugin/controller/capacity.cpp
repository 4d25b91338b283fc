// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/capacity.h"

#include <algorithm>
#include <map>

#include "slurm_plugin/controller/reach.h"

namespace ringrt::controller {

namespace {

constexpr std::size_t kRigidLookedAt = 500;

// Partitions that share a node belong to one pool (union-find over their names).
class PoolNames {
  public:
    explicit PoolNames(const std::vector<NodeRecord> &nodes) {
        for (const NodeRecord &node : nodes) {
            if (node.partitions.empty()) one_pool_ = true;
            for (const std::string &name : node.partitions) join(node.partitions[0], name);
        }
    }

    // The pool of "a" or "a,b", of the first that any node has; -1 where none has.
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

// Takes GPUs out of one pool for the rigid jobs that wait in it, by priority and arrival.
class RigidReservation {
  public:
    RigidReservation(Pool &pool, const std::vector<NodeRecord> &nodes,
                     const std::vector<MalleableJob> &jobs, Reclaim reclaim)
        : pool_(pool), nodes_(nodes) {
        room_ = pool.capacity.node_gpus;
        for (std::size_t node = 0; node < room_.size(); ++node)
            if (pool.free.node_gpus[node] < 0) room_[node] = 0;  // nobody could start there
        for (const std::size_t index : pool.jobs) {
            const MalleableJob &job = jobs[index];
            if (holds_gpus(job.stage)) {
                keep_min(job, job.intent.gpus_min);
                if (reclaim == Reclaim::higher_priority) by_priority_.push_back(&job);
            } else if (job.is_resizing()) {
                promised_min_ += job.intent.gpus_min;
            } else {
                by_priority_.push_back(&job);
            }
        }
        std::sort(by_priority_.begin(), by_priority_.end(),
                  [](const MalleableJob *a, const MalleableJob *b) {
                      return a->record->priority > b->record->priority;
                  });
    }

    // The next rigid job, of lower or equal priority than the one before.
    void reserve_for(const JobRecord &rigid) {
        for (;
             next_ < by_priority_.size() && by_priority_[next_]->record->priority >= rigid.priority;
             ++next_)
            keep_all(*by_priority_[next_]);
        const std::vector<int> nodes = nodes_for(rigid);
        if (nodes.empty()) {
            note_unserved(rigid);
            return;
        }
        int left = rigid.gpus_requested;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::size_t node = static_cast<std::size_t>(nodes[i]);
            const int share = left / static_cast<int>(nodes.size() - i);
            left -= share;
            room_[node] -= share;
            pool_.capacity.node_gpus[node] -= share;
            int &free = pool_.free.node_gpus[node];
            free = std::max(std::min(0, free), free - share);
        }
        pool_.capacity.kept_for_rigid += rigid.gpus_requested;
        pool_.somebody_waits = true;
    }

  private:
    void note_unserved(const JobRecord &rigid) {
        const auto found = std::ranges::find_if(pool_.unserved, [&](const JobRecord *other) {
            return other->partition == rigid.partition && other->gpu_kind == rigid.gpu_kind &&
                   other->features == rigid.features &&
                   other->excluded_nodes == rigid.excluded_nodes;
        });
        if (found == pool_.unserved.end())
            pool_.unserved.push_back(&rigid);
        else if (rigid.gpus_requested < (*found)->gpus_requested)
            *found = &rigid;
    }

    // A running job keeps its MIN, on its first nodes.
    void keep_min(const MalleableJob &job, int gpus) {
        for (const auto &[node, held] : job.record->gpus_on_node) {
            subtract(node, std::min(held, gpus));
            gpus -= std::min(held, gpus);
        }
    }

    // The index is Slurm's: after a change of its configuration it may be of a node that is gone.
    void subtract(int node, int gpus) {
        if (node >= 0 && static_cast<std::size_t>(node) < room_.size())
            room_[static_cast<std::size_t>(node)] -= gpus;
    }

    // One that comes before the rigid job: what it holds is not reclaimed, or its MIN comes first.
    void keep_all(const MalleableJob &job) {
        if (!holds_gpus(job.stage)) {
            promised_min_ += job.intent.gpus_min;
            return;
        }
        int min = job.intent.gpus_min;
        for (const auto &[node, held] : job.record->gpus_on_node) {
            subtract(node, held - std::min(held, min));
            min -= std::min(held, min);
        }
    }

    // The nodes on which it could start if malleable jobs gave what they borrowed, those with the
    // most free GPUs first; empty where it could not.
    [[nodiscard]] std::vector<int> nodes_for(const JobRecord &rigid) const {
        const std::size_t count = static_cast<std::size_t>(std::max(1, rigid.nodes_requested));
        const int share =
            (rigid.gpus_requested + static_cast<int>(count) - 1) / static_cast<int>(count);
        std::vector<int> nodes;
        int total = -promised_min_;
        for (std::size_t i = 0; i < room_.size(); ++i) {
            if (room_[i] <= 0 || !may_use(rigid, nodes_[i], static_cast<int>(i))) continue;
            total += room_[i];
            if (room_[i] >= share) nodes.push_back(static_cast<int>(i));
        }
        if (total < rigid.gpus_requested || nodes.size() < count) return {};
        const auto usable = [&](int node) {
            return std::min(share, pool_.free.node_gpus[static_cast<std::size_t>(node)]);
        };
        std::partial_sort(
            nodes.begin(), nodes.begin() + static_cast<long>(count), nodes.end(),
            [&](int a, int b) { return usable(a) != usable(b) ? usable(a) > usable(b) : a < b; });
        nodes.resize(count);
        return nodes;
    }

    Pool &pool_;
    const std::vector<NodeRecord> &nodes_;
    std::vector<int> room_;  // what rigid jobs may have, per node
    int promised_min_ = 0;   // to malleable jobs that hold nothing and come first
    std::vector<const MalleableJob *>
        by_priority_;  // those that come first only before rigid jobs below them
    std::size_t next_ = 0;
};

void reserve_for_rigid(Pool &pool, const std::vector<NodeRecord> &nodes,
                       const std::vector<MalleableJob> &jobs,
                       std::vector<const JobRecord *> waiting, Reclaim reclaim) {
    std::sort(waiting.begin(), waiting.end(), [](const JobRecord *a, const JobRecord *b) {
        if (a->priority != b->priority) return a->priority > b->priority;
        return a->submit_s != b->submit_s ? a->submit_s < b->submit_s : a->id < b->id;
    });
    // As many as Slurm's own backfill looks at: the later ones have no chance yet.
    if (waiting.size() > kRigidLookedAt) waiting.resize(kRigidLookedAt);
    RigidReservation reservation(pool, nodes, jobs, reclaim);
    for (const JobRecord *rigid : waiting) reservation.reserve_for(*rigid);
}

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

// Slurm leaves a job without a reason until its next look at the queue: by then, this long.
constexpr double kNotLookedAt_s = 3;

bool waits_for_gpus(const JobRecord &job, double now_s) {
    if (job.phase != JobPhase::pending || job.gpus_requested == 0) return false;
    const double since_s = std::max(job.submit_s, job.begin_s);
    return job.pending_reason == PendingReason::resources ||
           job.pending_reason == PendingReason::priority ||
           (job.pending_reason == PendingReason::none && now_s - since_s > kNotLookedAt_s);
}

Pool &pool_at(std::vector<Pool> &pools, int index, std::size_t nodes) {
    while (pools.size() <= static_cast<std::size_t>(index)) {
        pools.emplace_back();
        pools.back().capacity.node_gpus.assign(nodes, 0);
        pools.back().free.node_gpus.assign(nodes, 0);
        pools.back().has_node.assign(nodes, false);
    }
    return pools[static_cast<std::size_t>(index)];
}

// Is one of a pool's nodes unlike the others for a job?
bool are_mixed(const std::vector<NodeRecord> &nodes, const std::vector<bool> &of_pool) {
    const NodeRecord *first = nullptr;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!of_pool[i] || nodes[i].gpus <= 0) continue;
        if (first == nullptr) first = &nodes[i];
        if (first->partitions != nodes[i].partitions || first->gpu_kinds != nodes[i].gpu_kinds ||
            nodes[i].reserved_from_s > 0)
            return true;
    }
    return false;
}

}  // namespace

std::vector<Pool> make_pools(const Observation &observation, const std::vector<MalleableJob> &jobs,
                             const Options &options) {
    const std::size_t nodes = observation.nodes.size();
    PoolNames names(observation.nodes);
    const Holdings held = holdings(observation, names);
    std::vector<Pool> pools;
    for (std::size_t i = 0; i < nodes; ++i) {
        const NodeRecord &node = observation.nodes[i];
        const int index = names.find(node.partitions.empty() ? "" : node.partitions[0]);
        Pool &pool = pool_at(pools, index, nodes);
        pool.has_node[i] = true;
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
        if (jobs[i].stage == Stage::unsized && !jobs[i].is_resizing()) pool.somebody_waits = true;
    }
    for (Pool &pool : pools) pool.is_mixed = are_mixed(observation.nodes, pool.has_node);
    std::map<int, std::vector<const JobRecord *>> waiting;
    for (const JobRecord &job : observation.jobs)
        if (waits_for_gpus(job, observation.now_s) && !job.intent)
            waiting[names.find(job.partition)].push_back(&job);
    for (auto &[index, rigid] : waiting)
        if (index >= 0 && static_cast<std::size_t>(index) < pools.size())
            reserve_for_rigid(pools[static_cast<std::size_t>(index)], observation.nodes, jobs,
                              std::move(rigid), options.reclaim);
    return pools;
}

}  // namespace ringrt::controller
