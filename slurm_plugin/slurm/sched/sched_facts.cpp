// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/sched/sched_facts.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ringrt::slurm {

void SchedFacts::publish(const SlurmCluster &cluster, int hold_s, bool keeps_records) {
    if (cluster.seen().version == version_ && hold_s == hold_s_ && keeps_records == keeps_records_)
        return;
    KnownIntents intents;
    if (keeps_records) intents = known_intents(cluster.seen());
    const std::scoped_lock lock(mutex_);
    partitions_ = cluster.partitions();
    intents_ = std::move(intents);
    hold_s_ = hold_s;
    keeps_records_ = keeps_records;
    version_ = cluster.seen().version;
}

bool SchedFacts::partition(const char *name, RingrtPartitionView *out) {
    const std::string_view wanted =
        name != nullptr ? std::string_view(name, strnlen(name, 256)) : "";
    const std::scoped_lock lock(mutex_);
    *out = {};
    out->hold_s = hold_s_;
    const auto found =
        wanted.empty() ? std::ranges::find_if(
                             partitions_, [](const auto &entry) { return entry.second.is_default; })
                       : partitions_.find(wanted);
    if (found == partitions_.end()) return true;
    out->gpus_in_all = found->second.gpus_in_all;
    out->whole_nodes = found->second.whole_nodes ? 1 : 0;
    out->gpus_per_node = found->second.gpus_per_node;
    out->nodes = found->second.nodes;
    return true;
}

bool SchedFacts::intent_text(const char *job, char *out, std::size_t size) {
    const std::scoped_lock lock(mutex_);
    const auto found = intents_.find(job);
    if (found == intents_.end() || found->second.size() >= size) return false;
    std::memcpy(out, found->second.c_str(), found->second.size() + 1);
    return true;
}

}  // namespace ringrt::slurm
