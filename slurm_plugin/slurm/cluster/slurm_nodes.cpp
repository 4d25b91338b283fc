// SPDX-License-Identifier: GPL-2.0-or-later
// The controller's records of nodes, from Slurm's listings of nodes and partitions.
#include <algorithm>

#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/slurm/cluster/gpu_tres.h"
#include "slurm_plugin/slurm/cluster/slurm_memory.h"
#include "slurm_plugin/slurm/cluster/slurm_records.h"
#include "slurm_plugin/slurm/cluster/slurm_shares.h"

namespace ringrt::slurm {

using controller::NodeRecord;
using controller::TypedGpus;

namespace {

constexpr std::size_t kNodeNameBytesMax = 256;

std::vector<std::string> split(std::string_view list) {
    std::vector<std::string> out;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (end > 0) out.emplace_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return out;
}

// Slurm starts jobs on such a node, and a job that needs it waits until it has booted.
constexpr uint32_t kAsleep = NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_UP;

bool takes_jobs(uint32_t state) {
    constexpr uint32_t kOut = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND |
                              NODE_STATE_RES | NODE_STATE_MAINT | NODE_STATE_POWERING_DOWN |
                              NODE_STATE_REBOOT_ISSUED | NODE_STATE_INVALID_REG |
                              // These take effect once the node is idle, even for two seconds:
                              NODE_STATE_REBOOT_REQUESTED | NODE_STATE_POWER_DOWN |
                              NODE_STATE_POWER_DRAIN;
    // A node that boots does not respond yet.
    const uint32_t out =
        (state & kAsleep) != 0 ? kOut & ~static_cast<uint32_t>(NODE_STATE_NO_RESPOND) : kOut;
    if ((state & out) != 0) return false;
    switch (state & NODE_STATE_BASE) {
        case NODE_STATE_UNKNOWN:  // slurmctld has just started: the node is about to register
        case NODE_STATE_IDLE:
        case NODE_STATE_ALLOCATED:
        case NODE_STATE_MIXED:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::vector<NodeRecord> node_records(const node_info_msg_t &nodes,
                                     const partition_info_msg_t &partitions) {
    std::vector<NodeRecord> records;
    std::vector<std::vector<TypedGpus>> types;
    records.reserve(nodes.record_count);
    types.reserve(nodes.record_count);
    for (const node_info_t &node : std::span(nodes.node_array, nodes.record_count)) {
        types.emplace_back();
        NodeRecord record{.name = bounded_text(node.name, kNodeNameBytesMax), .usable = false};
        if (!record.name.empty()) {
            record.gpus = count_gpus(bounded_text(node.gres));
            types.back() = gpus_by_type(bounded_text(node.gres));
            for (const TypedGpus &one : types.back()) record.gpu_types.push_back(one.first);
            record.features = split(
                bounded_text(node.features_act != nullptr ? node.features_act : node.features));
            record.gpu_shares = shares_of_a_gpu(bounded_text(node.gres), record.gpus);
            note_amounts(node, record);
            if (node.owner != NO_VAL) record.owner = node.owner;
            const bool is_asleep = (node.node_state & kAsleep) != 0;
            record.usable = takes_jobs(node.node_state) && !is_asleep;
            record.asleep = takes_jobs(node.node_state) && is_asleep;
            record.completing = (node.node_state & NODE_STATE_COMPLETING) != 0;
        }
        records.push_back(std::move(record));
    }
    for (const partition_info_t &partition :
         std::span(partitions.partition_array, partitions.record_count)) {
        if ((partition.state_up & PARTITION_SCHED) == 0) continue;
        const std::string name = bounded_text(partition.name, kNodeNameBytesMax);
        const bool shares_cpus = (partition.max_share & ~SHARED_FORCE) > 1;  // OverSubscribe
        for_each_node(partition.node_inx, records.size(), [&](std::size_t node) {
            records[node].partitions.push_back(name);
            if (shares_cpus) records[node].cpus_free = records[node].cpus;
        });
    }
    for (NodeRecord &record : records)
        // An unnamed partition, which no job requests.
        if (record.partitions.empty()) record.partitions.emplace_back();
    for (std::size_t i = 0; i < types.size(); ++i) controller::split_by_type(records, i, types[i]);
    return records;
}

}  // namespace ringrt::slurm
