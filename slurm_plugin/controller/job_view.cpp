// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/job_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurm_plugin/records/flag.h"

namespace ringrt::controller {

using records::IntentState;

namespace {

constexpr double kClockSlack_s = 5;

bool on_ladder(const JobView &job, int gpus) {
    return records::on_ladder({job.intent.gpus_min, job.intent.gpus_max}, gpus);
}

// Is the start time one that Slurm's requeue or job_submit set, and not one that somebody asked
// for?
bool is_soft_hold(const JobView &job, const Options &options) {
    const JobRecord &record = *job.record;
    constexpr double kSlack_s = 3;
    if (record.restarts == 0 && job.intent.gpus == 0)
        return record.begin_s <= record.submit_s + options.submit_hold_s + kSlack_s;
    const double came_back_s = record.end_s > 0 ? record.end_s : record.submit_s;
    return record.begin_s <= came_back_s + options.requeue_hold_s + kSlack_s;
}

}  // namespace

bool is_malleable(const JobRecord &record) {
    return records::parse_intent(record.admin_comment).has_value();
}

std::vector<JobView> malleable_jobs(const Observation &observation) {
    std::vector<JobView> jobs;
    for (const JobRecord &record : observation.jobs) {
        if (record.phase == JobPhase::finished) continue;
        const std::optional<records::Intent> intent = records::parse_intent(record.admin_comment);
        if (!intent) continue;
        jobs.push_back({&record, *intent, records::parse_telemetry(record.comment)});
    }
    return jobs;
}

bool holds_gpus(const JobRecord &record) {
    return record.phase == JobPhase::running || record.phase == JobPhase::suspended ||
           record.phase == JobPhase::completing;
}

bool is_resizing(const JobView &job) { return job.intent.asked_s > 0; }

bool waits_for_size(const JobView &job) {
    if (job.record->phase != JobPhase::pending) return false;
    if (job.intent.state != IntentState::released) return true;
    if (job.record->slurm_hold == SlurmHold::launch_failed) return true;
    if (job.intent.run != job.record->restarts) return true;  // it ran in between
    // An update of which only a part was done: the record says so, but size and start time do not.
    return job.record->gpus_requested != job.intent.target &&
           job.record->begin_s > job.intent.since_s + 2;
}

bool is_kept_back(const JobView &job, double now_s, const Options &options) {
    const JobRecord &record = *job.record;
    if (record.pending_reason == PendingReason::held && record.slurm_hold == SlurmHold::none)
        return true;
    if (record.pending_reason == PendingReason::dependency) return true;
    if (record.begin_s <= now_s) return false;
    // We released it: somebody has set a start time since. (Slurm may have rounded ours up.)
    if (!waits_for_size(job)) return record.begin_s > now_s + 1;
    if (record.restarts == 0 && now_s < static_cast<double>(job.intent.begin_s)) return true;
    return !is_soft_hold(job, options);
}

bool is_over_ceiling(const JobMemory &memory, int gpus, double now_s) {
    return now_s < memory.ceiling_until_s && gpus > memory.ceiling_gpus;
}

const records::Telemetry *current_telemetry(const JobView &job) {
    return job.telemetry && job.telemetry->run == job.record->restarts ? &*job.telemetry : nullptr;
}

double age_s(double then_s, double now_s) {
    if (then_s > now_s + kClockSlack_s) return std::numeric_limits<double>::infinity();
    return std::max(0.0, now_s - then_s);
}

std::string_view why_not_askable(const JobView &job, const JobMemory &memory, double now_s,
                                 bool somebody_waits, const Options &options) {
    const JobRecord &record = *job.record;
    if (record.phase == JobPhase::suspended) return "it is suspended";
    if (record.phase != JobPhase::running) return "it does not run";
    if (job.intent.state != IntentState::running || job.intent.run != record.restarts)
        return "its start has not been noted yet";
    if (!on_ladder(job, record.gpus_requested))
        return "its size is none of MIN doubled some times: somebody changed it";
    if (job.telemetry) {
        const records::Telemetry *current = current_telemetry(job);
        if (!current || !current->up) return "its runtime is not ready yet";
        if (job.intent.base_step < 0 || static_cast<int64_t>(current->step) <= job.intent.base_step)
            return "it has made no progress since it last started";
    } else if (age_s(record.start_s, now_s) < options.settle_s) {
        return "it has only just started";
    }
    if (now_s < memory.quiet_until_s) return "a resize was called off a moment ago";
    const double ran_out_s =
        record.start_s + record.suspended_s + static_cast<double>(record.time_limit_s);
    if (record.time_limit_s >= 0 && ran_out_s - now_s < job.intent.grace_s)
        return "its time limit is near";
    if (!somebody_waits && job.intent.resizes > 0 &&
        age_s(job.intent.since_s, now_s) < options.min_resize_interval_s)
        return "it was resized a moment ago";
    return {};
}

}  // namespace ringrt::controller
