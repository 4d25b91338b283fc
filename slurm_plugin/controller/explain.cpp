// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/reason.h"

#include "slurm_plugin/controller/controller.h"

namespace ringrt::controller {

namespace {

std::string seconds(double value) { return std::to_string(static_cast<long>(value)) + " s"; }

std::string gpus(int count) { return std::to_string(count) + (count == 1 ? " GPU" : " GPUs"); }

// The state of a resize under way, empty where there is none.
std::string under_way(const JobView &job, double now_s) {
    if (!is_resizing(job)) return {};
    const std::string since = seconds(age_s(job.intent.asked_s, now_s)) + " ago";
    if (job.record->phase == JobPhase::pending)
        return "asked " + since + ", it has left and comes back with " + gpus(job.intent.target);
    return "asked " + since + " to save and come back with " + gpus(job.intent.target) +
           " instead of " + std::to_string(job.record->gpus_requested) + "; called off after " +
           std::to_string(job.intent.grace_s) + " s";
}

std::string explain_job(const JobView &job, const Wish &wish, double now_s,
                        const Options &options) {
    const JobRecord &record = *job.record;
    if (options.mode == Mode::detach) return "is being handed back to Slurm (mode: detach)";
    if (const std::string text = under_way(job, now_s); !text.empty()) return text;
    if (record.phase == JobPhase::pending && is_kept_back(job, now_s, options))
        return "waits: held, depends on another job, or has a later start time";
    if (wish.pool < 0) return "left alone: its partition has no nodes, or starts no jobs now";
    const std::string size = gpus(record.gpus_requested);
    if (record.phase == JobPhase::pending) {
        const std::string text = policy::explain(wish.job, wish.allotment, policy_options(options));
        return waits_for_size(job)
                   ? "not released yet; " + text
                   : "released with " + size + ", waits for Slurm to start it; " + text;
    }
    if (wish.job.pinned) return size + ": left alone, because " + std::string(wish.why_pinned);
    std::string text = policy::explain(wish.job, wish.allotment, policy_options(options));
    if (wish.allotment.gpus != record.gpus_requested) text = "has " + size + ", shall get " + text;
    if (wish.allotment.gpus > record.gpus_requested && wish.fitting < wish.allotment.gpus)
        text += "; waits until these GPUs are free";
    if (wish.may_lose_place && wish.allotment.gpus != record.gpus_requested)
        text += "; not now: a job that waits would take its place";
    return text;
}

}  // namespace

std::vector<Explanation> explain(const Observation &observation, const Options &options) {
    const std::vector<JobView> jobs = malleable_jobs(observation);
    const Decision decision = decide(observation, jobs, {}, options);
    std::vector<Explanation> out;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const JobRecord &record = *jobs[i].record;
        const Wish &wish = decision.wishes[i];
        const bool under_way = is_resizing(jobs[i]);
        out.push_back({.job_id = record.id,
                       .gpus = holds_gpus(record) ? record.gpus_requested : 0,
                       .wanted = under_way ? jobs[i].intent.target : wish.allotment.gpus,
                       .reason = under_way ? jobs[i].intent.why
                                           : std::string(to_string(wish.allotment.reason)),
                       .text = explain_job(jobs[i], wish, observation.now_s, options)});
    }
    return out;
}

}  // namespace ringrt::controller
