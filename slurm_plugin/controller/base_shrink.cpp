// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/base_shrink.h"

#include <algorithm>
#include <string>

#include "slurm_plugin/controller/lent_settings.h"
#include "slurm_plugin/controller/node_parts.h"
#include "slurm_plugin/controller/text.h"

namespace ringrt::controller {

namespace {

using Kind = Action::Kind;

// As the ranks report it (records::Telemetry::nodes).
uint32_t reported_checksum(const std::vector<int> &indices, std::span<const NodeRecord> nodes) {
    uint32_t sum = 0;
    for (const int index : indices) {
        if (index < 0 || static_cast<std::size_t>(index) >= nodes.size()) return 0;
        sum += records::node_checksum(nodes[static_cast<std::size_t>(index)].name);
    }
    return sum;
}

bool computes_on(const records::Telemetry &heard, const std::vector<int> &nodes,
                 const PassContext &pass) {
    return heard.nodes != 0 && !nodes.empty() &&
           heard.nodes == reported_checksum(nodes, pass.nodes);
}

// Its ranks have left some of its nodes: those where they still are.
std::vector<int> nodes_left(const MalleableJob &job, const PassContext &pass) {
    const records::Telemetry *heard = job.current_telemetry();
    if (!heard || !job.extensions.empty() || heard->gpus >= job.record->gpus_requested) return {};
    std::vector<int> nodes = first_nodes(*job.record, heard->gpus, pass.nodes);
    return computes_on(*heard, nodes, pass) ? nodes : std::vector<int>{};
}

Action return_nodes(const MalleableJob &job, std::vector<int> nodes,
                    std::span<const NodeRecord> of) {
    Action action{.kind = Kind::return_nodes, .intent = job.intent, .poll_fast = true};
    const std::size_t leaving = on_nodes(job.record->gpus_on_node, of).size() - nodes.size();
    action.nodes = std::move(nodes);
    const int now = job.record->gpus_requested, left = job.current_telemetry()->gpus;
    action.event = event_of(EventKind::extension, job.intent, now, left,
                            "its ranks have left " + std::to_string(leaving) +
                                (leaving == 1 ? " node" : " nodes") + ": returned to Slurm");
    return action;
}

// Slurm does not take the nodes that its ranks have left.
Action restart_without(const MalleableJob &job, const PassContext &pass) {
    Action action{.kind = Kind::ask, .intent = job.intent, .poll_fast = true};
    records::Intent &intent = action.intent;
    intent.state = records::IntentState::asked;
    intent.gpus = job.record->gpus_requested;
    intent.target = job.current_telemetry()->gpus;
    intent.since_s = intent.asked_s = pass.now_s;
    intent.keep = 0;
    ++intent.resize_id;
    action.settings = suppress_mails(*job.record, intent);
    action.event = event_of(EventKind::asked, intent, intent.gpus, intent.target,
                            "signalled to save and restart with " + gpus_text(intent.target) +
                                ": Slurm does not take the nodes that its ranks have left");
    return action;
}

Action end_shrink(const MalleableJob &job, const PassContext &pass, double grace_s) {
    Action action{.kind = Kind::end_shrink, .intent = job.intent};
    action.intent.keep = 0;
    action.intent.since_s = pass.now_s;
    action.event = event_of(
        EventKind::called_off, job.intent, job.intent.gpus, job.intent.keep,
        "its ranks did not leave their nodes within " + seconds_text(grace_s) + ": called off");
    return action;
}

}  // namespace

std::vector<int> first_nodes(const JobRecord &record, int gpus, std::span<const NodeRecord> of) {
    std::vector<std::pair<int, int>> held = on_nodes(record.gpus_on_node, of);
    std::ranges::sort(held);
    std::vector<int> nodes;
    for (const auto &[node, count] : held) {
        if (gpus <= 0) break;
        nodes.push_back(node);
        gpus -= count;
    }
    return gpus == 0 ? nodes : std::vector<int>{};
}

bool can_shrink_base(const MalleableJob &job, int gpus, const JobTracker &tracker,
                     const PassContext &pass) {
    const records::Telemetry *heard = job.current_telemetry();
    const JobRecord &record = *job.record;
    if (!pass.can_keep_nodes || !job.is_live || !heard || heard->gpus != record.gpus_requested)
        return false;
    if (tracker.shrinks.holds(pass.now_s) || first_nodes(record, gpus, pass.nodes).empty())
        return false;
    return computes_on(*heard, first_nodes(record, record.gpus_requested, pass.nodes), pass);
}

Action shrink_base(const MalleableJob &job, const Target &target, const PassContext &pass) {
    Action action{.kind = Kind::shrink_base, .intent = job.intent, .poll_fast = true};
    action.intent.keep = target.allotment.gpus;
    action.intent.since_s = pass.now_s;
    action.intent.why = to_string(target.allotment.reason);
    action.event = event_of(EventKind::extension, action.intent, job.record->gpus_requested,
                            action.intent.keep,
                            "shrinks in place: all ranks but the first " +
                                std::to_string(action.intent.keep) + " are asked to leave");
    return action;
}

std::optional<Action> next_base_action(const MalleableJob &job, const JobTracker &tracker,
                                       const PassContext &pass, const Options &options) {
    if (std::vector<int> nodes = nodes_left(job, pass); !nodes.empty()) {
        if (!tracker.shrinks.holds(pass.now_s))
            return return_nodes(job, std::move(nodes), pass.nodes);
        return pass.may_ask ? restart_without(job, pass) : wait_for_more();
    }
    if (job.intent.keep == 0 || job.record->gpus_requested <= job.intent.keep) return std::nullopt;
    const double grace_s = options.grace_of(job.intent.grace_s);
    if (age_s(job.intent.since_s, pass.now_s) > grace_s) return end_shrink(job, pass, grace_s);
    if (age_s(tracker.signalled_s, pass.now_s) >= options.signal_again_s)
        return Action{.kind = Kind::signal_base, .intent = job.intent, .poll_fast = true};
    return wait_for_more();
}

}  // namespace ringrt::controller
