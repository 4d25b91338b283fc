// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/job.h"

#include <algorithm>
#include <limits>

#include "slurm_plugin/controller/lent_exclusions.h"
#include "slurm_plugin/controller/tracker.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::controller {

namespace {

constexpr double kClockSlack_s = 5;
constexpr double kSilent_s = 10;

bool is_time_limit_near(const MalleableJob &job, double now_s, const Options &options) {
    const JobRecord &record = *job.record;
    if (!record.time_limit_s) return false;
    const double ends_s =
        record.start_s + record.suspended_s + static_cast<double>(*record.time_limit_s);
    return ends_s - now_s < options.grace_of(job.intent.grace_s);
}

}  // namespace

const records::Telemetry *MalleableJob::current_telemetry() const {
    return record->telemetry && record->telemetry->run == record->restarts ? &*record->telemetry
                                                                           : nullptr;
}

Holds holds_of(const Options &options) {
    return {.requeue_s = options.requeue_hold_s, .submit_s = options.submit_hold_s};
}

std::vector<MalleableJob> malleable_jobs(const Observation &observation, const Options &options) {
    std::vector<MalleableJob> jobs;
    for (const JobRecord &record : observation.jobs) {
        if (!record.intent || record.phase == JobPhase::finished) continue;
        jobs.push_back({.record = &record,
                        .intent = *record.intent,
                        .stage = stage_of(record, *record.intent, record.slurm_hold,
                                          holds_of(options), observation.now_s)});
    }
    return jobs;
}

bool is_silent(const MalleableJob &job, double now_s) {
    return job.stage == Stage::signalled && age_s(job.intent.asked_s, now_s) > kSilent_s;
}

double age_s(double then_s, double now_s) {
    if (then_s > now_s + kClockSlack_s) return std::numeric_limits<double>::infinity();
    return std::max(0.0, now_s - then_s);
}

std::string_view why_not_askable(const MalleableJob &job, const JobTracker &tracker, double now_s,
                                 bool has_pending, const Options &options) {
    const JobRecord &record = *job.record;
    if (job.stage == Stage::suspended) return "it is suspended";
    if (job.stage == Stage::starting) return "its start has not been recorded yet";
    if (job.stage != Stage::running) return "it is not running";
    if (!records::on_ladder({job.intent.gpus_min, job.intent.gpus_max}, record.gpus_requested))
        return "its size is not MIN times a power of two: it was changed by hand";
    if (record.telemetry) {
        const records::Telemetry *current = job.current_telemetry();
        if (!current || !current->up) return "its runtime is not ready yet";
        if (job.intent.base_step < 0 || static_cast<int64_t>(current->step) <= job.intent.base_step)
            return "it has made no progress since it last started";
    } else if (age_s(record.start_s, now_s) < options.settle_s) {
        return "it has only just started";
    }
    if (tracker.backoff.holds(now_s)) return "its last resize failed";
    if (is_time_limit_near(job, now_s, options)) return "its time limit is near";
    if (!has_pending && job.intent.resizes > 0 &&
        age_s(job.intent.since_s, now_s) < options.min_resize_interval_s)
        return kResizedJustNow;
    return {};
}

bool has_run(const MalleableJob &job) { return job.record->restarts > 0 || job.intent.gpus > 0; }

bool keeps_array_slot(const MalleableJob &job) {
    return job.record->array_at_limit && job.record->phase == JobPhase::running && !job.is_live;
}

bool may_move(const MalleableJob &job, const JobTracker &tracker, double now_s,
              const Options &options) {
    if (job.is_live || names_nodes(*job.record) || tracker.moves.holds(now_s)) return false;
    if (keeps_array_slot(job)) return false;
    const bool leaves =
        job.stage == Stage::signalled || (job.stage == Stage::completing && job.is_resizing());
    return leaves || why_not_askable(job, tracker, now_s, true, options).empty();
}

}  // namespace ringrt::controller
