// SPDX-License-Identifier: BSD-3-Clause
// The life of jobs in virtual time. The queue and the interface to the controller are in queue.cpp.
#include "sim/slurm/sim_cluster.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/intent.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::sim {

using controller::JobPhase;
using controller::JobRecord;
using controller::PendingReason;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kShownFor_s = 300;  // after a job's end (MinJobAge)
constexpr int kGrace_s = 120;
constexpr double kFirstInterval_s = 5;
constexpr int kFirstReports = 2;  // of a run: the controller needs these; later ones only refresh

double tick_at_or_after(double time_s) {
    const double ticks = std::ceil((time_s - SimCluster::kStart_s) / kTick_s - kInstant);
    return SimCluster::kStart_s + ticks * kTick_s;
}

// As in the plugin, a malleable job is one with a range of sizes.
bool is_malleable(const JobSpec &spec) { return spec.gpus_max > spec.gpus_min; }

}  // namespace

SimCluster::SimCluster(const Site &site)
    : site_(site),
      free_(static_cast<std::size_t>(site.sim->nodes), site.sim->gpus_per_node),
      result_{.workload = site.workload->name, .policy = site.controller->policy} {
    result_.jobs.resize(site.workload->jobs.size());
    for (int node = 0; node < site.sim->nodes; ++node)
        nodes_.push_back({.name = "n" + std::to_string(node + 1), .gpus = site.sim->gpus_per_node});
}

// ---- time -------------------------------------------------------------------------------------

double SimCluster::next_event_s() const {
    if (queue_changed_) return now_s_ + kTick_s;
    double next = kNever;
    if (submitted_ < site_.workload->jobs.size())
        next = kStart_s + site_.workload->jobs[submitted_].submit_s;
    for (const auto &[id, job] : jobs_) next = std::min(next, job.next_s);
    return next == kNever ? kNever : std::max(tick_at_or_after(next), now_s_ + kTick_s);
}

void SimCluster::advance_to(double until_s) {
    const double to_s = tick_at_or_after(until_s);
    if (to_s <= now_s_) return;
    share_s_ +=
        (to_s - now_s_) * site_.sim->nodes * site_.sim->gpus_per_node / std::max(1, active_);
    now_s_ = to_s;
    submit();
    bool forgets = false;
    for (auto &[id, job] : jobs_) {
        if (job.next_s > now_s_) continue;
        run(job);
        if (job.record.phase == JobPhase::completing && now_s_ >= job.completing_until_s)
            finish_completing(job);
        forgets |= job.record.phase == JobPhase::finished;
        plan_next(job);
    }
    if (forgets) forget_finished();
    if (queue_changed_) schedule();
}

void SimCluster::forget_finished() {
    std::erase_if(jobs_, [&](const auto &entry) {
        const Job &job = entry.second;
        return job.record.phase == JobPhase::finished && now_s_ >= job.stopped_s + kShownFor_s;
    });
}

void SimCluster::plan_next(Job &job) const {
    const JobRecord &record = job.record;
    job.next_s = kNever;
    switch (record.phase) {
        case JobPhase::pending:
            if (!job.queued) job.next_s = record.begin_s;
            return;
        case JobPhase::completing:
            job.next_s = job.completing_until_s;
            return;
        case JobPhase::finished:
            job.next_s = job.stopped_s + kShownFor_s;
            return;
        case JobPhase::suspended:
            return;
        case JobPhase::running:
            break;
    }
    if (record.time_limit_s)
        job.next_s = record.start_s + static_cast<double>(*record.time_limit_s) + kTick_s;
    if (!job.up)
        job.next_s = std::min(job.next_s, job.up_at_s);
    else if (job.save_until_s > 0)
        job.next_s = std::min(job.next_s, job.save_until_s);
    else if (job.flagged)
        job.next_s = now_s_ + kTick_s;
    else
        job.next_s =
            std::min(job.next_s, job.trained_to_s + job.training.seconds_left(
                                                        *job.spec->profile, record.gpus_requested));
    if (job.up && job.reports < kFirstReports && job.program->telemetry_s > 0 && job.malleable)
        job.next_s = std::min(job.next_s, job.reported_s + report_interval_s(job));
    job.next_s = tick_at_or_after(job.next_s);
}

// ---- a job's life -----------------------------------------------------------------------------

void SimCluster::submit() {
    const std::vector<JobSpec> &specs = site_.workload->jobs;
    for (; submitted_ < specs.size() && kStart_s + specs[submitted_].submit_s <= now_s_;
         ++submitted_)
        submit(submitted_);
}

void SimCluster::submit(std::size_t index) {
    const JobSpec &spec = site_.workload->jobs[index];
    const auto id = static_cast<uint32_t>(index + 1);
    Job &job = jobs_[id];
    job.spec = &spec;
    job.program = &(*site_.programs)[index];
    job.index = index;
    job.malleable = is_malleable(spec);
    job.share_s = share_s_;
    ++active_;
    JobRecord &record = job.record;
    record.id = id;
    record.name = spec.application;
    record.submit_s = std::floor(now_s_);
    record.priority = 1 + spec.priority;
    record.gpus_requested = job.malleable ? spec.gpus_min : spec.gpus_asked;
    record.nodes_requested =
        (record.gpus_requested + site_.sim->gpus_per_node - 1) / site_.sim->gpus_per_node;
    if (spec.limit_s > 0) record.time_limit_s = std::llround(spec.limit_s);
    if (job.malleable) {
        record.pending_reason = PendingReason::begin_time;
        record.begin_s = record.submit_s + site_.controller->submit_hold_s;
        records::Intent intent{
            .gpus_min = spec.gpus_min, .gpus_max = spec.gpus_max, .grace_s = kGrace_s};
        intent.first_gpus =
            records::most_on_ladder({spec.gpus_min, spec.gpus_max}, spec.gpus_asked);
        intent.since_s = record.submit_s;
        set_admin_comment(record, records::format_into("", intent));
    }
    job.next_s = std::max(record.begin_s, now_s_);
    changed();
}

void SimCluster::run(Job &job) {
    JobRecord &record = job.record;
    if (record.phase == JobPhase::pending && !job.queued && record.begin_s <= now_s_)
        job.queued = queue_changed_ = true;
    if (record.phase != JobPhase::running) return;
    if (record.time_limit_s && now_s_ - record.start_s > static_cast<double>(*record.time_limit_s))
        return stop(job, false);
    if (!job.up) {
        if (now_s_ < job.up_at_s) return;
        come_up(job);
    }
    if (job.save_until_s > 0) {
        (void)send_due_reports(job);
        if (now_s_ >= job.save_until_s) stop(job, true);
        return;
    }
    train(job, now_s_);
    if (job.training.is_done(*job.spec->profile)) return stop(job, false);
    if (!job.flagged) return;
    job.stopped_s = now_s_;
    job.save_until_s = now_s_ + std::max(kTick_s, job.program->save_s);
    job.flagged = false;
}

void SimCluster::come_up(Job &job) {
    job.up = true;
    job.trained_to_s = now_s_ - kTick_s;
    if (job.malleable && job.record.restarts > 0)
        job.result.lost_gpu_s += (now_s_ - job.ran_from_s) * job.record.gpus_requested;
}

// Trains until `until_s`, with the reports that were due on the way.
void SimCluster::train(Job &job, double until_s) {
    if (send_due_reports(job) && job.reports <= kFirstReports) changed();
    if (until_s <= job.trained_to_s) return;
    const Profile &profile = *job.spec->profile;
    (void)job.training.run(
        profile, until_s - job.trained_to_s, [&](double steps) { job.steps += steps; },
        [&] { job.training.enter_epoch(profile, job.record.gpus_requested); });
    job.trained_to_s = until_s;
}

// As in libringrt (job/reporter.cpp), the first reports of a run come closer together.
double SimCluster::report_interval_s(const Job &job) {
    const double usual_s = job.program->telemetry_s;
    return job.reports < kFirstReports ? std::min(usual_s, kFirstInterval_s) : usual_s;
}

// Sends the last of the reports that are due: no one has read the earlier ones.
bool SimCluster::send_due_reports(Job &job) {
    const double every_s = report_interval_s(job);
    if (!job.malleable || every_s <= 0 || !job.up || now_s_ - job.reported_s < every_s)
        return false;
    double due_s = now_s_;
    if (job.reports > 0) {
        const double step_s = tick_at_or_after(kStart_s + every_s) - kStart_s;
        due_s = job.reported_s + std::floor((now_s_ - job.reported_s) / step_s + kInstant) * step_s;
    }
    job.reported_s = due_s;
    if (job.save_until_s <= 0 && due_s - kTick_s > job.trained_to_s) train(job, due_s - kTick_s);
    ++job.reports;
    report(job);
    return true;
}

void SimCluster::report(Job &job) {
    const Profile &profile = *job.spec->profile;
    records::Telemetry told{.run = job.record.restarts, .gpus = job.record.gpus_requested};
    told.step = static_cast<uint64_t>(job.steps);
    told.ckpt_step = static_cast<uint64_t>(job.first_step);
    told.step_ms = 1000 * job.training.step_s;
    told.batch = static_cast<uint32_t>(job.spec->batch);
    told.trained = static_cast<uint64_t>(job.steps) * told.batch;
    told.steps_left = std::llround((profile.epoch_ends().back() - job.training.progress) /
                                   job.training.step_progress);
    told.up = true;
    told.began_s = job.up_at_s;
    // The speeds at earlier sizes, which a job keeps in its checkpoint.
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
    const int gpus = job.record.gpus_requested;
    job.result.gpu_s += (now_s_ - job.ran_from_s) * gpus;
    if (requeued) job.result.lost_gpu_s += (now_s_ - job.stopped_s) * gpus;
    note_span(job);
    job.up = job.flagged = false;
    job.save_until_s = 0;
    job.stopped_s = now_s_;
    stop_run(job.record, now_s_);
    job.requeued = requeued;
    job.completing_until_s = now_s_ + kCompleting_s;
    changed();
    if (requeued) return;
    job.result.finish_s = now_s_ - kStart_s;
    record_fairness(job);
    result_.jobs[job.index] = job.result;
    result_.makespan_s = std::max(result_.makespan_s, job.result.finish_s);
    ++finished_;
    --active_;
}

void SimCluster::record_fairness(Job &job) const {
    JobState state;
    state.spec = job.spec;
    state.share_s = share_s_ - job.share_s;
    state.finished_s = job.result.finish_s;
    job.result.fairness = finish_time_fairness(state, *site_.sim);
}

void SimCluster::note_span(const Job &job) {
    if (!site_.sim->timeline) return;
    for (const auto &[node, gpus] : job.record.gpus_on_node)
        result_.spans.push_back({.job = job.index,
                                 .node = node,
                                 .gpus = gpus,
                                 .from_s = job.ran_from_s - kStart_s,
                                 .to_s = now_s_ - kStart_s});
}

void SimCluster::finish_completing(Job &job) {
    JobRecord &record = job.record;
    for (const auto &[node, gpus] : record.gpus_on_node)
        free_[static_cast<std::size_t>(node)] += gpus;
    queue_changed_ = true;
    changed();
    if (!job.requeued) return end_for_good(record, controller::End::How::completed);
    end_in_requeue(record, site_.controller->requeue_hold_s);
    job.queued = job.requeued = false;
}

RunResult SimCluster::result() const {
    RunResult out = result_;
    for (const auto &[id, job] : jobs_)
        if (job.result.finish_s < 0) out.jobs[job.index] = job.result;
    return out;
}

}  // namespace ringrt::sim
