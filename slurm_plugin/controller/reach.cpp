// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/reach.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "slurm_plugin/controller/gpu_shares.h"
#include "slurm_plugin/controller/node_parts.h"

namespace ringrt::controller {

namespace {

bool contains(const std::vector<std::string> &list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
}

// Whether `is_met` holds for one (all: for every one) of the names that `separator` joins.
template <typename IsMet>
bool holds(std::string_view names, char separator, bool all, IsMet is_met) {
    for (;;) {
        const std::size_t end = std::min(names.find(separator), names.size());
        if (is_met(names.substr(0, end)) != all) return !all;
        if (end == names.size()) return all;
        names.remove_prefix(end + 1);
    }
}

}  // namespace

bool is_reserved_too_soon(const JobRecord &job, const NodeRecord &node) {
    // A resize moves the end: the restart takes seconds, and the limit is in whole minutes.
    constexpr double kMoved_s = 120;
    if (node.reserved_from_s <= 0) return false;
    if (!job.time_limit_s) return true;
    const double from_s = job.start_s > 0 && job.phase != JobPhase::pending
                              ? job.start_s + job.suspended_s
                              : std::max(job.slurmctld_s, job.begin_s);
    return from_s + static_cast<double>(*job.time_limit_s) + kMoved_s > node.reserved_from_s;
}

bool may_use(const JobRecord &job, const NodeRecord &node, int node_index) {
    if (is_reserved_too_soon(job, node)) return false;
    if (!node.partitions.empty() && !holds(job.partition, ',', false, [&](std::string_view name) {
            return contains(node.partitions, name);
        }))
        return false;
    if (!job.gpu_type.empty() && !node.gpu_types.empty() && !contains(node.gpu_types, job.gpu_type))
        return false;
    if (!job.gpus_of_types.empty() && std::ranges::none_of(node.gpu_types, [&](const auto &type) {
            return gpus_of_type(job, type) > 0;
        }))
        return false;
    if (!offers_share(node, job.gpu_share)) return false;
    if (node.part_of >= 0) node_index = node.part_of;
    if (!job.required_nodes.empty() &&
        std::ranges::find(job.required_nodes, node_index) == job.required_nodes.end())
        return false;
    if (std::ranges::find(job.excluded_nodes, node_index) != job.excluded_nodes.end()) return false;
    if (job.features.empty() || job.features.find_first_of("|,[]()*") != std::string::npos)
        return true;
    return holds(job.features, '&', true,
                 [&](std::string_view name) { return contains(node.features, name); });
}

bool have_same_nodes(const JobRecord &a, const JobRecord &b) {
    return a.partition == b.partition && a.gpu_type == b.gpu_type && a.features == b.features &&
           a.gpus_of_types == b.gpus_of_types && a.gpu_share == b.gpu_share &&
           a.required_nodes == b.required_nodes && a.excluded_nodes == b.excluded_nodes;
}

bool has_different_nodes(const JobRecord &job, const Pool &pool) {
    return pool.is_mixed || !job.features.empty() || !job.excluded_nodes.empty();
}

bool is_choosy(const JobRecord &job, const Pool &pool) {
    return has_different_nodes(job, pool) || job.cpus_per_task > 1;
}

Reach reach_of(const Observation &observation, const Pool &pool, const JobRecord &job,
               const records::Layout &layout) {
    Reach reach;
    const int cpus_per_task = std::max(1, job.cpus_per_task);
    for (std::size_t i = 0; i < observation.nodes.size(); ++i) {
        const NodeRecord &node = observation.nodes[i];
        if (!pool.has_node[i] || node.part_of >= 0) continue;
        int all = 0, lent = 0;
        const auto add = [&](int part) {
            const NodeRecord &record = observation.nodes[static_cast<std::size_t>(part)];
            if (record.gpus <= 0 || !may_use(job, record, part)) return;
            all += record.gpus;
            lent += std::max(0, pool.capacity.node_gpus[static_cast<std::size_t>(part)]);
        };
        add(static_cast<int>(i));
        for (const int part : node.parts) add(part);
        if (all == 0) continue;
        const int tasks = node.cpus > 0 ? node.cpus / cpus_per_task : all;
        int gpus = layout.task_per_node && tasks > 0 ? all : std::min(tasks, all);
        if (layout.gpus_per_node > 0) gpus = std::min(gpus, layout.gpus_per_node);
        reach.gpus_per_node = std::max(reach.gpus_per_node, gpus);
        reach.nodes += gpus > 0;
        reach.gpus_in_all += gpus;
        reach.gpus_lent += std::min(gpus, lent);
    }
    return reach;
}

int most_evenly(const Reach &reach, const records::Layout &layout, int min, int kept, int most) {
    int size = policy::Ladder{min, most}.floor(most);
    if (size == 0) return most;
    while (size > std::max(min, kept) && nodes_of(layout, size, reach.gpus_per_node) > reach.nodes)
        size /= 2;
    return std::max(size, kept);
}

}  // namespace ringrt::controller
