// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/fence.h"

#include <algorithm>

namespace ringrt::controller {

void Fence::update(const JobRecord &record, Stage stage, bool asked,
                   const std::vector<NodeRecord> &nodes, double gap_end_s, double now_s,
                   bool was_watched) {
    // The restart count rose while it was pending: a run on unknown nodes passed between polls.
    if (waits_since_s_ && record.restarts != restarts_) {
        waits_since_s_.reset();
        seen_s_.reset();
        nodes_.clear();
    }
    restarts_ = record.restarts;
    if (!is_waiting(stage)) return update_held(record, stage, now_s);
    const bool up = are_nodes_up(nodes);
    if (!waits_since_s_) {
        waits_since_s_ = now_s;
        note_leave(record, now_s);
        const bool watched = seen_s_ && *seen_s_ >= gap_end_s;
        if (asked && ((watched && up) || was_watched))
            up_since_s_.reset();
        else
            up_since_s_ = now_s;
    } else if (up != nodes_up_) {
        up_since_s_ = now_s;
    }
    nodes_up_ = up;
}

// A completing job loses its nodes one by one, so the nodes of its run count.
void Fence::update_held(const JobRecord &record, Stage stage, double now_s) {
    seen_s_ = now_s;
    waits_since_s_.reset();
    if (stage == Stage::completing) return note_leave(record, now_s);
    leave_.reset();
    nodes_.clear();
    for (const auto &[node, gpus] : record.gpus_on_node) nodes_.push_back(node);
}

// Another restart count is the end of another run, or a requeue of a job that was ending anyway.
void Fence::note_leave(const JobRecord &record, double now_s) {
    if (!leave_ || leave_->restarts != record.restarts)
        leave_ = {.seen_s = now_s, .slurmctld_s = record.slurmctld_s, .restarts = record.restarts};
}

// False if the job's nodes are not known.
bool Fence::are_nodes_up(const std::vector<NodeRecord> &nodes) const {
    return !nodes_.empty() && std::ranges::all_of(nodes_, [&](int node) {
        return node >= 0 && static_cast<std::size_t>(node) < nodes.size() &&
               nodes[static_cast<std::size_t>(node)].usable;
    });
}

}  // namespace ringrt::controller
