// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/node_room.h"

#include <algorithm>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/reach.h"

namespace ringrt::controller {

namespace {

// `amount` for `part` of `all`, rounded up.
int64_t share_of(int64_t amount, int64_t part, int64_t all) {
    return all > 0 ? (amount * part + all - 1) / all : amount;
}

int64_t mb_of(const JobRecord &job, int64_t gpus, int64_t cpus) {
    return static_cast<int64_t>(job.memory.total_mb(gpus, cpus, 1));
}

int64_t held_gpus(const JobRecord &job) {
    int64_t held = 0;
    for (const auto &[node, gpus] : job.gpus_on_node) held += gpus;
    return held;
}

}  // namespace

NodeDemand held_with(const JobRecord &job, int gpus) {
    const int64_t cpus = share_of(job.cpus_requested, gpus, held_gpus(job));
    return {.gpus = gpus, .cpus = cpus, .mb = mb_of(job, gpus, cpus)};
}

NodeRoom::NodeRoom(const Observation &observation, const std::set<uint32_t> &may_pause)
    : records_(observation.nodes), shares_(observation) {
    bool is_known = false;
    nodes_.reserve(observation.nodes.size());
    for (const NodeRecord &node : observation.nodes) {
        nodes_.push_back({.cpus = {.all = node.cpus, .free = node.cpus_free},
                          .mb = {.all = node.mb, .free = node.mb_free},
                          .threads = std::max(1, node.threads)});
        cpus_most_ = std::max<int64_t>(cpus_most_, node.cpus);
        is_known |= node.cpus > 0 || node.mb > 0;
    }
    if (!is_known) return;
    for (const JobRecord &job : observation.jobs)
        add(job, !job.intent || may_pause.contains(job.id) ? 0 : job.intent->gpus_min);
}

// min: what it keeps, on its first nodes.
void NodeRoom::add(const JobRecord &job, int min) {
    for (const auto &[index, gpus] : on_nodes(job.gpus_on_node, records_)) {
        const int of_min = std::min(min, gpus);
        min -= of_min;
        if (at(index) == nullptr) continue;
        Node &node = nodes_[static_cast<std::size_t>(index)];
        const auto [_, cpus, mb] = held_with(job, gpus);
        node.cpus.of_gpu_jobs += cpus;
        node.mb.of_gpu_jobs += mb;
        if (!job.intent) continue;
        node.lent_gpus += gpus;
        node.borrowed_gpus += gpus - of_min;
        node.cpus.lent += cpus;
        if (job.memory.per != MemoryRequest::Per::node)
            node.mb.lent += mb;
        else if (of_min == 0)
            node.mb.lent_whole += mb;
    }
    if (!job.intent || job.phase == JobPhase::finished) return;
    // A running job may have more than it requests: the site's CPUs for each GPU, or whole cores.
    const int64_t held = held_gpus(job), told = held > 0 ? job.cpus_requested / held : 0;
    const int64_t cpus =
        job.intent->layout.task_per_node ? 1 : std::max<int64_t>({1, job.cpus_per_task, told});
    const int64_t mb = job.memory.per == MemoryRequest::Per::node ? 0 : mb_of(job, 1, cpus);
    cpus_per_gpu_ = std::min(cpus_per_gpu_.value_or(cpus), cpus);
    mb_per_gpu_ = std::min(mb_per_gpu_.value_or(mb), mb);
}

int NodeRoom::nodes_for(const JobRecord &rigid) const {
    const int64_t by_cpus =
        cpus_most_ > 0 ? (rigid.cpus_requested + cpus_most_ - 1) / cpus_most_ : 1;
    return static_cast<int>(std::max<int64_t>({1, rigid.nodes_requested, by_cpus}));
}

const NodeRoom::Node *NodeRoom::at(int part) const {
    const int node = node_of(records_, part);
    const bool is_node = node >= 0 && static_cast<std::size_t>(node) < nodes_.size();
    return is_node ? &nodes_[static_cast<std::size_t>(node)] : nullptr;
}

NodeDemand NodeRoom::demand(const JobRecord &rigid, int node, int gpus) const {
    const Node &here = *at(node);
    NodeDemand out{.gpus = shares_.whole_gpus(rigid, node, gpus)};
    if (rigid.whole_nodes)
        out.cpus = here.cpus.all;
    else if (rigid.gpus_requested > 0)
        out.cpus = share_of(rigid.cpus_requested, gpus, rigid.gpus_requested);
    else
        out.cpus = share_of(rigid.cpus_requested, 1, nodes_for(rigid));
    // Slurm allocates whole cores.
    out.cpus = (out.cpus + here.threads - 1) / here.threads * here.threads;
    out.mb = mb_of(rigid, gpus, out.cpus);
    return out;
}

// What malleable jobs free with this many GPUs, on average.
int64_t NodeRoom::returned(const Amount &amount, const Node &node, int gpus) {
    const int64_t part = std::min(gpus, node.lent_gpus);
    const int64_t whole = gpus > 0 && gpus >= node.borrowed_gpus ? amount.lent_whole : 0;
    return whole + (node.lent_gpus > 0 ? amount.lent * part / node.lent_gpus : 0);
}

// How many of the idle GPUs malleable jobs can use once the demand is met. A node that has fewer
// CPUs than its GPUs would need has all of them: the job's reach allows for that (reach.h).
int NodeRoom::usable_after(const Node &node, const NodeDemand &demand, int idle) const {
    int64_t usable = idle;
    const auto limit = [&](const Amount &amount, int64_t wanted, int64_t per_gpu) {
        if (amount.all <= 0 || per_gpu <= 0) return;
        const int64_t left = std::max<int64_t>(0, amount.free - wanted) / per_gpu;
        const int64_t without_others = (amount.all - amount.lent - amount.lent_whole) / per_gpu;
        if (left < std::min<int64_t>(idle, without_others)) usable = std::min(usable, left);
    };
    limit(node.cpus, demand.cpus, cpus_per_gpu_.value_or(1));
    limit(node.mb, demand.mb, mb_per_gpu_.value_or(0));
    return static_cast<int>(usable);
}

std::optional<int> NodeRoom::kept_gpus(int index, const NodeDemand &demand, int free, int room,
                                       int least) const {
    const Node &node = *at(index);
    for (int back = std::max({0, least, demand.gpus - free}); back <= std::max(0, room - free);
         ++back) {
        const bool fits = node.cpus.has(demand.cpus - returned(node.cpus, node, back)) &&
                          node.mb.has(demand.mb - returned(node.mb, node, back));
        if (!fits) continue;
        // Until they are returned, no other malleable job gets idle GPUs there, even if it needs
        // fewer CPUs: the policy would see no need to return any.
        const int idle = free + back - demand.gpus;
        return demand.gpus + idle - (back > 0 ? 0 : usable_after(node, demand, idle));
    }
    return std::nullopt;
}

bool NodeRoom::fits_without_gpu_jobs(int index, const NodeDemand &demand) const {
    const Node &node = *at(index);
    const auto fits = [](const Amount &amount, int64_t wanted) {
        return amount.all <= 0 || amount.free + amount.of_gpu_jobs >= wanted;
    };
    return fits(node.cpus, demand.cpus) && fits(node.mb, demand.mb);
}

void NodeRoom::take(const JobRecord &rigid, int index, const NodeDemand &demand,
                    int returned_gpus) {
    shares_.take(rigid, index);
    Node &node = nodes_[static_cast<std::size_t>(node_of(records_, index))];
    const int back = std::min(returned_gpus, node.lent_gpus);
    for (const auto &[amount, wanted] :
         {std::pair{&node.cpus, demand.cpus}, std::pair{&node.mb, demand.mb}}) {
        const int64_t freed = returned(*amount, node, back);
        const int64_t whole = back > 0 && back >= node.borrowed_gpus ? amount->lent_whole : 0;
        amount->free += freed - wanted;
        amount->lent -= freed - whole;
        amount->lent_whole -= whole;
    }
    node.lent_gpus -= back;
    node.borrowed_gpus -= std::min(back, node.borrowed_gpus);
}

int NodeRoom::usable_gpus(int index, int idle) const { return usable_after(*at(index), {}, idle); }

int NodeRoom::gpus_for_malleable(int index) const {
    constexpr int kMost = 1 << 20;
    return std::min(kMost, at(index)->lent_gpus + usable_gpus(index, kMost));
}

bool NodeRoom::could_follow(const Observation &observation, const JobRecord &rigid,
                            const JobRecord &leaving) const {
    const std::vector<std::pair<int, int>> left = on_nodes(leaving.gpus_on_node, records_);
    int places = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const int node = static_cast<int>(i);
        const NodeRecord &record = observation.nodes[i];
        if (record.part_of >= 0 || !record.usable || !may_use(rigid, record, node)) continue;
        const NodeDemand wanted = demand(rigid, node, 0);
        const auto held = std::ranges::find(left, node, &std::pair<int, int>::first);
        const int gpus = held == left.end() ? 0 : held->second;
        const NodeDemand freed = held_with(leaving, gpus);
        if (nodes_[i].cpus.has(wanted.cpus - freed.cpus) && nodes_[i].mb.has(wanted.mb - freed.mb))
            ++places;
    }
    return places >= nodes_for(rigid);
}

}  // namespace ringrt::controller
