// SPDX-License-Identifier: BSD-3-Clause
// The queue of the Slurm in virtual time, and the controller's window on it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/slurm/sim_cluster.h"

namespace ringrt::sim {

using controller::JobPhase;
using controller::JobRecord;
using controller::PendingReason;
using controller::RpcStatus;

namespace {

constexpr double kForEver = std::numeric_limits<double>::infinity();

// Seconds until a running job's GPUs are free at the latest.
double limit_left_s(const JobRecord &record, double now_s) {
    if (!record.time_limit_s) return kForEver;
    return record.start_s + static_cast<double>(*record.time_limit_s) - now_s;
}

}  // namespace

// By priority, then by number. The first that cannot start gets a reservation by the time limits of
// those that run (EASY, as `fifo`), where these say when there is room at all.
void SimCluster::schedule() {
    queue_changed_ = false;
    std::vector<Job *> queue;
    for (auto &[id, job] : jobs_)
        if (job.record.phase == JobPhase::pending && job.queued) queue.push_back(&job);
    std::stable_sort(queue.begin(), queue.end(), [](const Job *a, const Job *b) {
        if (a->first != b->first) return a->first;
        return a->record.priority > b->record.priority;
    });
    bool blocked = false;
    policy::Reservation first;
    for (Job *job : queue) {
        const JobRecord &record = job->record;
        const double ends_s = record.time_limit_s ? double(*record.time_limit_s) : kForEver;
        const bool beside = record.gpus_requested <= first.spare;
        const bool may = !blocked || first.in_s == kForEver || ends_s <= first.in_s || beside;
        if (may && start(*job)) {
            if (blocked && ends_s > first.in_s) first.spare -= record.gpus_requested;
            continue;
        }
        const PendingReason reason = blocked ? PendingReason::priority : PendingReason::resources;
        if (job->record.pending_reason != reason) changed();
        job->record.pending_reason = reason;
        if (!blocked) first = reservation_for(record.gpus_requested);
        blocked = true;
    }
}

policy::Reservation SimCluster::reservation_for(int gpus) const {
    std::vector<std::pair<double, int>> ends;
    for (const auto &[id, job] : jobs_)
        if (!job.record.gpus_on_node.empty())
            ends.emplace_back(limit_left_s(job.record, now_s_), job.record.gpus_requested);
    const int free = std::accumulate(free_.begin(), free_.end(), 0);
    return policy::reserve(std::move(ends), free, gpus);
}

bool SimCluster::start(Job &job) {
    JobRecord &record = job.record;
    const int nodes = std::max(1, record.nodes_requested);
    const int share = (record.gpus_requested + nodes - 1) / nodes;
    std::vector<std::pair<int, int>> held;
    int left = record.gpus_requested;
    for (std::size_t i = 0; i < free_.size() && left > 0; ++i) {
        const int here = std::min(share, left);
        if (free_[i] < here) continue;
        held.push_back({static_cast<int>(i), here});
        left -= here;
    }
    if (left > 0 || static_cast<int>(held.size()) > nodes) return false;
    Shape shape;
    for (const auto &[node, gpus] : held) {
        free_[static_cast<std::size_t>(node)] -= gpus;
        shape.push_back(static_cast<uint8_t>(gpus));
    }
    record.gpus_on_node = std::move(held);
    record.phase = JobPhase::running;
    record.pending_reason = PendingReason::none;
    record.start_s = std::floor(now_s_);
    const ProgramSpec &program = *job.program;
    const bool again = record.restarts > 0 && program.reload_s >= 0;
    job.up_at_s = now_s_ + (!job.malleable ? program.rigid_up_s
                            : again        ? program.reload_s
                                           : program.up_s);
    job.up_at_s = std::max(job.up_at_s, now_s_ + kTick_s);
    job.training.go_on(*job.spec->profile, shape, job.spec->batch);
    job.ran_from_s = now_s_;
    job.queued = job.up = job.flagged = false;
    job.reports = 0;
    job.first_step = job.steps;
    if (job.result.start_s < 0) job.result.start_s = now_s_ - kStart_s;
    job.result.restarts = record.restarts;
    plan_next(job);
    changed();
    return true;
}

// ---- the controller's window ------------------------------------------------------------------

SimCluster::Job *SimCluster::find(uint32_t id) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
}

RpcStatus SimCluster::observe(controller::Observation &out) {
    const bool fresh = !site_.has_versions || out.version != version_ ||
                       now_s_ >= refreshed_s_ + site_.controller->interval_s;
    if (!fresh) return RpcStatus::ok;
    refreshed_s_ = now_s_;
    for (auto &[id, job] : jobs_)
        if (job.record.phase == JobPhase::running && tell_what_is_due(job)) changed();
    if (site_.has_versions && out.version == version_) return RpcStatus::ok;
    out.version = site_.has_versions ? version_ : 0;
    out.now_s = now_s_;
    out.jobs.clear();
    for (const auto &[id, job] : jobs_) {
        out.jobs.push_back(job.record);
        out.jobs.back().told_s = std::floor(now_s_);
    }
    out.nodes = nodes_;
    return RpcStatus::ok;
}

RpcStatus SimCluster::write_intent(uint32_t id, const std::string &admin_comment,
                                   std::optional<int64_t>) {
    Job *job = find(id);
    if (!job) return RpcStatus::not_found;
    if (job->record.phase == JobPhase::completing) return RpcStatus::busy;
    if (job->record.phase == JobPhase::finished) return RpcStatus::refused;
    job->record.admin_comment = admin_comment;
    job->record.intent = records::parse_intent(admin_comment);
    changed();
    return RpcStatus::ok;
}

RpcStatus SimCluster::update_pending(uint32_t id, const controller::PendingUpdate &update) {
    Job *job = find(id);
    if (!job) return RpcStatus::not_found;
    JobRecord &record = job->record;
    if (record.phase == JobPhase::completing) return RpcStatus::busy;
    if (record.phase != JobPhase::pending) return RpcStatus::refused;
    if (update.size) {
        record.gpus_requested = update.size->gpus;
        record.nodes_requested = update.size->nodes;
    }
    if (update.time_limit_s) record.time_limit_s = update.time_limit_s;
    if (update.begin_s) record.begin_s = *update.begin_s;
    job->first = update.first_in_queue;
    if (!update.admin_comment.empty()) {
        record.admin_comment = update.admin_comment;
        record.intent = records::parse_intent(record.admin_comment);
    }
    job->queued = record.begin_s <= now_s_;
    queue_changed_ |= job->queued;
    plan_next(*job);
    changed();
    return RpcStatus::ok;
}

RpcStatus SimCluster::signal_steps(uint32_t id, int) {
    Job *job = find(id);
    if (!job) return RpcStatus::not_found;
    if (job->record.phase == JobPhase::completing) return RpcStatus::busy;
    if (job->record.phase != JobPhase::running) return RpcStatus::refused;
    if (!job->up) return RpcStatus::busy;
    job->flagged = true;
    plan_next(*job);
    return RpcStatus::ok;
}

}  // namespace ringrt::sim
