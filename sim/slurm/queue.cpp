// SPDX-License-Identifier: BSD-3-Clause
// The queue of the simulated Slurm, and the interface to the controller.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/slurm/sim_cluster.h"
#include "slurm_plugin/controller/lent_exclusions.h"

namespace ringrt::sim {

using controller::JobPhase;
using controller::JobRecord;
using controller::RpcStatus;

void SimCluster::schedule() {
    queue_changed_ = false;
    Queue queue;
    for (auto &[id, job] : jobs_)
        if (job.record.phase == JobPhase::pending && job.queued)
            queue.waiting.push_back(&job.record);
    queue.start = [&](const JobRecord &record) {
        std::optional<Place> place = find_place(record, free_);
        if (place) start(jobs_.at(record.id), std::move(*place));
        return place.has_value();
    };
    queue.reserve = [&](int gpus) {
        Ends ends(now_s_);
        for (const auto &[id, job] : jobs_) ends.add(job.record);
        return std::move(ends).reserve(std::accumulate(free_.begin(), free_.end(), 0), gpus);
    };
    if (queue.start_all()) changed();
}

void SimCluster::start(Job &job, Place place) {
    JobRecord &record = job.record;
    Shape shape;
    for (const auto &[node, gpus] : place) {
        free_[static_cast<std::size_t>(node)] -= gpus;
        shape.push_back(static_cast<uint8_t>(gpus));
    }
    start_run(record, std::move(place), now_s_);
    const ProgramSpec &program = *job.program;
    const bool again = record.restarts > 0 && program.reload_s >= 0;
    job.up_at_s = now_s_ + (!job.malleable ? program.rigid_up_s
                            : again        ? program.reload_s
                                           : program.up_s);
    job.up_at_s = std::max(job.up_at_s, now_s_ + kTick_s);
    job.training.resume(*job.spec->profile, shape, job.spec->batch);
    job.ran_from_s = now_s_;
    job.queued = job.up = job.flagged = false;
    job.reports = 0;
    job.first_step = job.steps;
    if (job.result.start_s < 0) job.result.start_s = now_s_ - kStart_s;
    job.result.restarts = record.restarts;
    plan_next(job);
    changed();
}

// ---- the interface to the controller ----------------------------------------------------------

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
        if (job.record.phase == JobPhase::running && send_due_reports(job)) changed();
    if (site_.has_versions && out.version == version_) return RpcStatus::ok;
    out.version = site_.has_versions ? version_ : 0;
    out.now_s = now_s_;
    out.jobs.clear();
    for (const auto &[id, job] : jobs_) {
        out.jobs.push_back(job.record);
        out.jobs.back().slurmctld_s = std::floor(now_s_);
        take_out_lent_list(out.jobs.back(), nodes_);
    }
    out.nodes = nodes_;
    return RpcStatus::ok;
}

RpcStatus SimCluster::write_intent(uint32_t id, const std::string &admin_comment,
                                   const controller::Settings &settings) {
    Job *job = find(id);
    if (!job) return RpcStatus::not_found;
    if (const RpcStatus answer = answer_to_write(job->record); answer != RpcStatus::ok)
        return answer;
    set_admin_comment(job->record, admin_comment);
    apply(job->record, settings);
    changed();
    return RpcStatus::ok;
}

RpcStatus SimCluster::update_pending(uint32_t id, const controller::PendingUpdate &update) {
    Job *job = find(id);
    if (!job) return RpcStatus::not_found;
    JobRecord &record = job->record;
    if (const RpcStatus answer = answer_to_update(record); answer != RpcStatus::ok) return answer;
    apply(record, update, 0);
    job->queued = record.begin_s <= now_s_;
    queue_changed_ |= job->queued;
    plan_next(*job);
    changed();
    return RpcStatus::ok;
}

RpcStatus SimCluster::signal_steps(uint32_t id, int) {
    Job *job = find(id);
    if (!job) return RpcStatus::not_found;
    if (const RpcStatus answer = answer_to_signal(job->record); answer != RpcStatus::ok)
        return answer;
    if (!job->up) return RpcStatus::busy;
    job->flagged = true;
    plan_next(*job);
    return RpcStatus::ok;
}

}  // namespace ringrt::sim
