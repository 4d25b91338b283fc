// SPDX-License-Identifier: BSD-3-Clause
// FakeCluster: the controller's interface, and the rules that a request may break.
#include <algorithm>
#include <cmath>
#include <utility>

#include "slurm_plugin/controller/lent_exclusions.h"
#include "slurm_plugin/records/flag.h"
#include "tests/support/fake_cluster.h"

namespace ringrt::test {

using controller::SlurmHold;
using records::IntentState;

bool FakeCluster::loses_answer() {
    const bool now = next_lost;
    next_lost = false;
    return now || (faults.lost_answer > 0 &&
                   std::uniform_real_distribution<>(0, 1)(random_) < faults.lost_answer);
}

bool FakeCluster::answers(RpcStatus &answer) {
    ++calls;
    const auto chance = [&](double p) {
        return std::uniform_real_distribution<>(0, 1)(random_) < p;
    };
    answer = next_answer;
    next_answer = RpcStatus::ok;
    if (answer == RpcStatus::ok && chance(faults.busy)) answer = RpcStatus::busy;
    if (answer == RpcStatus::ok && chance(faults.refused)) answer = RpcStatus::refused;
    if (answer == RpcStatus::ok && chance(faults.unreachable)) answer = RpcStatus::unreachable;
    return answer == RpcStatus::ok;
}

RpcStatus FakeCluster::observe(controller::Observation &out) {
    if (std::uniform_real_distribution<>(0, 1)(random_) < faults.unreachable)
        return RpcStatus::unreachable;
    out = {.now_s = now_s_};
    for (std::size_t i = 0; i < node_gpus_.size(); ++i)
        out.nodes.push_back({.name = "n" + std::to_string(i),
                             .gpus = node_gpus_[i],
                             .cpus = node_cpus,
                             .cpus_free = node_cpus,
                             .usable = is_open(i),
                             .completing = static_cast<int>(i) == completing_node});
    for (const auto &[id, ctld] : ctld_) {
        out.jobs.push_back(frozen_.contains(id) ? frozen_.at(id) : ctld.record);
        if (!frozen_.contains(id)) out.jobs.back().slurmctld_s = std::floor(now_s_);
        out.jobs.back().intent = records::parse_intent(out.jobs.back().admin_comment);
        controller::take_out_lent_list(out.jobs.back(), out.nodes);
        controller::JobRecord &job = out.jobs.back();
        job.cpus_requested = job.gpus_requested * job.cpus_per_task;
        for (const auto &[node, gpus] : job.gpus_on_node)
            out.nodes[static_cast<std::size_t>(node)].cpus_free -= gpus * job.cpus_per_task;
    }
    return RpcStatus::ok;
}

records::Intent FakeCluster::intent(uint32_t id) const {
    return records::parse_intent(ctld_.at(id).record.admin_comment).value();
}

// Another job took its place in the gap between stop and restart.
bool FakeCluster::waits_long(const Ctld &ctld) const {
    return ctld.record.phase == JobPhase::pending && now_s_ - ctld.revoked_s > 10;
}

// Signalled some time ago and still running: it must not delay another job's resize.
bool FakeCluster::is_silent(uint32_t id, const Ctld &ctld) const {
    return ctld.record.phase == JobPhase::running && now_s_ - intent(id).asked_s > 10;
}

void FakeCluster::check_ask(uint32_t id, const Ctld &ctld, const records::Intent &after) {
    const Real &real = real_.at(id);
    if (ctld.record.phase != JobPhase::running) violation(id, "asked although it does not run");
    if (after.target == 0 && !may_pause && !after.pause)
        violation(id, "asked to pause although it may not be paused");
    if (after.target > 0 && !records::on_ladder({after.gpus_min, after.gpus_max}, after.target))
        violation(id, "asked for a size off its ladder");
    if (real.alive && real.program.telemetry_s > 0 &&
        (!real.up || std::floor(real.step) <= std::floor(real.first_step)))
        violation(id, "asked before it made progress (I12)");
    int in_flight = 1, free = 0;
    for (const auto &[other, c] : ctld_)
        if (c.malleable && other != id && c.record.phase != JobPhase::finished &&
            intent(other).asked_s > 0 && !waits_long(c) && !is_silent(other, c))
            ++in_flight;
    if (in_flight > resizes_in_flight_most) violation(id, "storm limit exceeded");
    // Below 0: slurmctld was killed and lost the end of a job whose GPUs another job now has.
    for (const int gpus : free_gpus()) free += std::max(0, gpus);
    if (after.target > ctld.record.gpus_requested &&
        after.target > free + ctld.record.gpus_requested)
        violation(id, "asked to grow into GPUs that are not free (I7)");
}

// Each user wants all mails about a run, and misses them only during a resize.
void FakeCluster::check_mails(uint32_t id, const JobRecord &record) {
    const bool has_all = record.run_mails == records::kRunMailsAll;
    if (!record.intent && !has_all) violation(id, "handed back without its mails");
    if (record.intent && (record.intent->own_mails == 0) != has_all)
        violation(id, "its mails are not what its record says");
    if (record.intent && record.intent->own_mails != 0 && record.intent->asked_s == 0)
        violation(id, "mails are kept back, and it does not resize");
}

// No user here names nodes: the controller lends a list of excluded nodes, and the record says so.
void FakeCluster::check_list(uint32_t id, const JobRecord &record) {
    const bool runs = record.phase != JobPhase::pending;
    if (!record.intent) {
        if (!runs && !record.excluded_nodes.empty())
            violation(id, "handed back with excluded nodes");
        return;
    }
    std::vector<controller::NodeRecord> nodes;
    for (std::size_t i = 0; i < node_gpus_.size(); ++i)
        nodes.push_back({.name = "n" + std::to_string(i)});
    if (checksum_of(record.excluded_nodes, nodes) != record.intent->exclusions_checksum)
        violation(id, "its excluded nodes are not what its record says");
    if (!runs && record.intent->exclusions_checksum != 0 && record.intent->asked_s == 0)
        violation(id, "it waits with excluded nodes, and does not resize");
}

RpcStatus FakeCluster::write_intent(uint32_t id, const std::string &admin_comment,
                                    const controller::Settings &settings) {
    RpcStatus answer;
    frozen_.erase(id);
    const bool lost_answer = loses_answer();
    if (!answers(answer)) return answer;
    const auto found = ctld_.find(id);
    if (found == ctld_.end()) return RpcStatus::not_found;
    Ctld &ctld = found->second;
    if (ctld.record.phase == JobPhase::finished) violation(id, "a finished job was touched (I9)");
    if ((answer = sim::answer_to_write(ctld.record)) != RpcStatus::ok) return answer;
    const auto after = records::parse_intent(admin_comment);
    if (admin_comment == "site=1") {  // handed back: a rigid job from now on
        ctld.malleable = false;
        sim::set_admin_comment(ctld.record, admin_comment);
        sim::apply(ctld.record, settings);
        check_mails(id, ctld.record);
        check_list(id, ctld.record);
        return lost_answer ? RpcStatus::unreachable : RpcStatus::ok;
    }
    if (!after || !admin_comment.starts_with("site=1 ")) {
        violation(id, "wrote a broken record: " + admin_comment);
        return RpcStatus::refused;
    }
    if (after->state == IntentState::asked && intent(id).state != IntentState::asked)
        check_ask(id, ctld, *after);
    sim::set_admin_comment(ctld.record, admin_comment);
    sim::apply(ctld.record, settings);
    check_mails(id, ctld.record);
    check_list(id, ctld.record);
    return lost_answer ? RpcStatus::unreachable : RpcStatus::ok;
}

RpcStatus FakeCluster::update_pending(uint32_t id, const controller::PendingUpdate &update) {
    RpcStatus answer;
    frozen_.erase(id);
    const bool lost_answer = loses_answer();
    if (!answers(answer)) return answer;
    const auto found = ctld_.find(id);
    if (found == ctld_.end()) return RpcStatus::not_found;
    Ctld &ctld = found->second;
    JobRecord &r = ctld.record;
    if (r.phase == JobPhase::finished) violation(id, "a finished job was touched (I9)");
    if ((answer = sim::answer_to_update(r)) != RpcStatus::ok) return answer;
    if (update.undo_slurm_hold && r.slurm_hold != SlurmHold::none) {
        r.slurm_hold = SlurmHold::none;
        ctld.held = false;
        r.pending_reason = PendingReason::none;
    }
    if (ctld.held) violation(id, "a held job was changed (I8)");
    if (ctld.own_begin_s > now_s_ + 1) violation(id, "its user's start time was changed (I8)");
    const auto after = records::parse_intent(update.admin_comment);
    if (!after) violation(id, "an update without a record");
    constexpr double kClocks_s = 5;  // the controller's clock may be ahead by less
    const bool delays = update.begin_s && *update.begin_s > now_s_ + kClocks_s;
    if (after && delays != (after->state == IntentState::paused))
        violation(id, "delayed without a pause, or paused without a delay");
    if (update.size) {
        const int gpus = update.size->gpus;
        if (gpus > gpus_allowed) return RpcStatus::refused;
        if (after && !records::on_ladder({after->gpus_min, after->gpus_max}, gpus))
            violation(id, "sized off its ladder (I6): " + std::to_string(gpus));
    }
    if (update.time_limit_s) ctld.limit_wall_s.reset();
    // As in 22.05: without the priority, the nice value and the start time.
    if (std::exchange(next_held, false)) {
        controller::PendingUpdate part = update;
        part.begin_s.reset();
        part.nice.reset();
        part.first_in_queue = false;
        sim::apply(r, part, ctld.own_nice);
        hold(id, true);
        return RpcStatus::busy;
    }
    sim::apply(r, update, ctld.own_nice);
    check_list(id, r);
    return lost_answer ? RpcStatus::unreachable : RpcStatus::ok;
}

RpcStatus FakeCluster::signal_steps(uint32_t id, int signal) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    const auto found = ctld_.find(id);
    if (found == ctld_.end()) return RpcStatus::not_found;
    const Ctld &ctld = found->second;
    answer = sim::answer_to_signal(ctld.record);
    if (answer == RpcStatus::refused) violation(id, "signalled although it does not run");
    if (answer != RpcStatus::ok) return answer;
    const records::Intent now = intent(id);
    if (now.state != IntentState::asked) violation(id, "signalled before the intent was written");
    if (signal != now.signal) violation(id, "the wrong signal was sent");
    Real &real = real_[id];
    if (real.alive && (real.up || !real.program.has_handler_late)) real.flagged = true;
    return RpcStatus::ok;
}

RpcStatus FakeCluster::confirm_run(uint32_t id) {
    const bool as_seen = !frozen_.contains(id) || frozen_.at(id).restarts == job(id).restarts;
    frozen_.erase(id);
    return as_seen && job(id).phase == JobPhase::running ? RpcStatus::ok : RpcStatus::busy;
}

Liveness FakeCluster::probe_run(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return Liveness::unknown;
    if (job(id).phase != JobPhase::running) return Liveness::alive;
    if (now_s_ - job(id).start_s < launch_s) return Liveness::too_early;
    return real_.at(id).alive ? Liveness::alive : Liveness::gone;
}

RpcStatus FakeCluster::requeue_running(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    if (real_.at(id).alive) violation(id, "requeued although it is alive");
    if (was_completed(id)) violation(id, "requeued although it is known to have ended (I9)");
    return requeue_gone(id);
}

// Whether the controller has reported the job's completion since the run began.
bool FakeCluster::was_completed(uint32_t id) const {
    return std::ranges::any_of(events, [&](const controller::Event &event) {
        return event.job_id == id && event.outcome == controller::Outcome::completed &&
               event.time_s >= job(id).start_s;
    });
}

RpcStatus FakeCluster::requeue_ended(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    Ctld &ctld = ctld_.at(id);
    if (ctld.record.phase != JobPhase::finished) return RpcStatus::refused;
    if (real_.at(id).completed || ctld.cancelled) violation(id, "its end was undone (I9)");
    ctld.record.end.reset();
    ctld.requeued = true;
    finish_completing(ctld);
    return RpcStatus::ok;
}

RpcStatus FakeCluster::complete(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    Ctld &ctld = ctld_.at(id);
    if (ctld.record.phase != JobPhase::running) return RpcStatus::refused;
    if (!real_.at(id).completed) violation(id, "completed although it had not ended");
    stop(ctld, real_.at(id), false);
    return RpcStatus::ok;
}

RpcStatus FakeCluster::cancel(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    violation(id, "cancelled");  // it leaves no stale nodes
    return RpcStatus::refused;
}

RpcStatus FakeCluster::requeue_gone(uint32_t id) {
    Ctld &ctld = ctld_.at(id);
    Real &real = real_[id];
    const bool on_record =
        ctld.record.phase == JobPhase::running || ctld.record.phase == JobPhase::suspended;
    if (!on_record || real.alive) return RpcStatus::refused;
    const double lost = real.lost_steps;
    stop(ctld, real, true);
    real.lost_steps = lost;
    return RpcStatus::ok;
}

}  // namespace ringrt::test
