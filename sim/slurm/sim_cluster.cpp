// SPDX-License-Identifier: BSD-3-Clause
#include "sim/slurm/sim_cluster.h"

#include <algorithm>
#include <cmath>

#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::sim {

using controller::JobPhase;
using controller::JobRecord;
using controller::PendingReason;
using controller::RpcStatus;

namespace {

constexpr double kCompleting_s = 0.5;
constexpr int kGrace_s = 120;

// As the plugin tells a malleable job from a rigid one: by its range of sizes.
bool is_malleable(const JobSpec &spec) { return spec.gpus_max > spec.gpus_min; }

}  // namespace

SimCluster::SimCluster(const Scenario &scenario) : scenario_(scenario) {}

void SimCluster::submit() {
    const std::vector<JobSpec> &specs = scenario_.workload.jobs;
    for (; submitted_ < specs.size() && kStart_s + specs[submitted_].submit_s <= now_s_;
         ++submitted_) {
        const JobSpec &spec = specs[submitted_];
        const auto id = static_cast<uint32_t>(submitted_ + 1);
        Job &job = jobs_[id];
        job.spec = &spec;
        job.program = &scenario_.programs[submitted_];
        job.malleable = is_malleable(spec);
        JobRecord &record = job.record;
        record.id = id;
        record.submit_s = std::floor(now_s_);
        record.priority = 1 + spec.priority;
        record.gpus_requested = spec.gpus_min;
        record.nodes_requested =
            (spec.gpus_min + scenario_.sim.gpus_per_node - 1) / scenario_.sim.gpus_per_node;
        if (spec.limit_s > 0) record.time_limit_s = std::llround(spec.limit_s);
        if (!job.malleable) continue;
        record.pending_reason = PendingReason::begin_time;
        record.begin_s = record.submit_s + scenario_.controller.submit_hold_s;
        records::Intent intent{
            .gpus_min = spec.gpus_min, .gpus_max = spec.gpus_max, .grace_s = kGrace_s};
        intent.since_s = record.submit_s;
        record.admin_comment = records::format_into("", intent);
        record.intent = records::parse_intent(record.admin_comment);
    }
}

void SimCluster::tick() {
    now_s_ += kTick_s;
    submit();
    for (auto &[id, job] : jobs_) {
        run(job);
        if (job.record.phase == JobPhase::completing && now_s_ >= job.completing_until_s)
            finish_completing(job);
    }
    schedule();
}

double SimCluster::step_s(const Job &job) const {
    return job.spec->profile
        ->step_time(packed(job.record.gpus_requested, scenario_.sim.gpus_per_node), 1)
        .step_s;
}

void SimCluster::run(Job &job) {
    JobRecord &record = job.record;
    if (record.phase != JobPhase::running) return;
    job.result.gpu_s += kTick_s * record.gpus_requested;
    if (record.time_limit_s && now_s_ - record.start_s > static_cast<double>(*record.time_limit_s))
        return stop(job, false);
    if (job.malleable && now_s_ - job.ran_from_s < job.program->up_s) return;
    job.up = true;
    report(job);
    if (job.save_until_s > 0) {
        if (now_s_ >= job.save_until_s) stop(job, true);
        return;
    }
    job.step += kTick_s / step_s(job);
    if (job.step >= job.spec->profile->epoch_ends().back()) return stop(job, false);
    if (job.flagged) job.save_until_s = now_s_ + std::max(kTick_s, job.program->save_s);
    job.flagged = false;
}

void SimCluster::report(Job &job) {
    const double every_s = job.program->telemetry_s;
    if (!job.malleable || every_s <= 0 || now_s_ - job.told_s < every_s) return;
    job.told_s = now_s_;
    records::Telemetry told{.run = job.record.restarts, .gpus = job.record.gpus_requested};
    told.step = static_cast<uint64_t>(job.step);
    told.ckpt_step = static_cast<uint64_t>(job.first_step);
    told.step_ms = 1000 * step_s(job);
    told.steps_left = std::llround(job.spec->profile->epoch_ends().back() - job.step);
    told.up = true;
    // The speeds at earlier sizes, which a job carries with it in its checkpoint.
    if (const auto &before = job.record.telemetry) {
        told.samples = before->samples;
        told.speed = before->speed;
    }
    const auto known = std::find_if(told.speed.begin(), told.speed.begin() + told.samples,
                                    [&](const auto &s) { return s.gpus == told.gpus; });
    if (known == told.speed.begin() + told.samples && told.samples < records::kSpeedSamplesMax)
        told.speed[static_cast<std::size_t>(told.samples++)] = {told.gpus, told.step_ms};
    job.record.telemetry = records::parse_telemetry(records::format_telemetry(told));
}

void SimCluster::stop(Job &job, bool requeued) {
    job.up = job.flagged = false;
    job.save_until_s = 0;
    job.record.phase = JobPhase::completing;
    job.record.end_s = std::floor(now_s_);
    job.requeued = requeued;
    job.completing_until_s = now_s_ + kCompleting_s;
    if (requeued) return;
    job.result.finish_s = now_s_ - kStart_s;
    ++finished_;
}

void SimCluster::finish_completing(Job &job) {
    JobRecord &record = job.record;
    record.gpus_on_node.clear();
    record.start_s = 0;
    record.phase = job.requeued ? JobPhase::pending : JobPhase::finished;
    if (!job.requeued) record.end = controller::End{.how = controller::End::How::completed};
    if (!job.requeued) return;
    record.pending_reason = PendingReason::begin_time;
    record.begin_s = record.end_s + scenario_.controller.requeue_hold_s;
    ++record.restarts;
    job.requeued = job.first = false;
}

std::vector<int> SimCluster::free_gpus() const {
    std::vector<int> free(static_cast<std::size_t>(scenario_.sim.nodes),
                          scenario_.sim.gpus_per_node);
    for (const auto &[id, job] : jobs_)
        for (const auto &[node, gpus] : job.record.gpus_on_node)
            free[static_cast<std::size_t>(node)] -= gpus;
    return free;
}

// By priority, then by number; what cannot start keeps nobody behind it from starting.
void SimCluster::schedule() {
    std::vector<Job *> queue;
    for (auto &[id, job] : jobs_) {
        if (job.record.phase != JobPhase::pending) continue;
        if (job.record.begin_s > now_s_)
            job.record.pending_reason = PendingReason::begin_time;
        else
            queue.push_back(&job);
    }
    std::stable_sort(queue.begin(), queue.end(), [](const Job *a, const Job *b) {
        if (a->first != b->first) return a->first;
        return a->record.priority > b->record.priority;
    });
    bool blocked = false;
    for (Job *job : queue) {
        if (start(*job)) continue;
        job->record.pending_reason = blocked ? PendingReason::priority : PendingReason::resources;
        blocked = true;
    }
}

bool SimCluster::start(Job &job) {
    JobRecord &record = job.record;
    const std::vector<int> free = free_gpus();
    const int nodes = std::max(1, record.nodes_requested);
    const int share = (record.gpus_requested + nodes - 1) / nodes;
    std::vector<std::pair<int, int>> held;
    int left = record.gpus_requested;
    for (std::size_t i = 0; i < free.size() && left > 0; ++i) {
        const int here = std::min(share, left);
        if (free[i] < here) continue;
        held.push_back({static_cast<int>(i), here});
        left -= here;
    }
    if (left > 0 || static_cast<int>(held.size()) > nodes) return false;
    record.gpus_on_node = held;
    record.phase = JobPhase::running;
    record.pending_reason = PendingReason::none;
    record.start_s = std::floor(now_s_);
    job.ran_from_s = now_s_;
    job.up = job.flagged = false;
    job.first_step = job.step;
    if (job.result.start_s < 0) job.result.start_s = now_s_ - kStart_s;
    job.result.restarts = record.restarts;
    return true;
}

// ---- the controller's window ------------------------------------------------------------------

SimCluster::Job *SimCluster::find(uint32_t id) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
}

RpcStatus SimCluster::observe(controller::Observation &out) {
    out = {.now_s = now_s_};
    for (const auto &[id, job] : jobs_) {
        out.jobs.push_back(job.record);
        out.jobs.back().told_s = std::floor(now_s_);
    }
    for (int node = 0; node < scenario_.sim.nodes; ++node)
        out.nodes.push_back(
            {.name = "n" + std::to_string(node + 1), .gpus = scenario_.sim.gpus_per_node});
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
    return RpcStatus::ok;
}

RpcStatus SimCluster::signal_steps(uint32_t id, int) {
    Job *job = find(id);
    if (!job) return RpcStatus::not_found;
    if (job->record.phase == JobPhase::completing) return RpcStatus::busy;
    if (job->record.phase != JobPhase::running) return RpcStatus::refused;
    if (!job->up) return RpcStatus::busy;
    job->flagged = true;
    return RpcStatus::ok;
}

RunResult SimCluster::result() const {
    RunResult out{.workload = scenario_.workload.name, .policy = scenario_.controller.policy};
    for (const auto &[id, job] : jobs_) {
        out.jobs.push_back(job.result);
        out.makespan_s = std::max(out.makespan_s, job.result.finish_s);
    }
    return out;
}

}  // namespace ringrt::sim
