// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/explain.h"

#include <algorithm>

#include "slurm_plugin/controller/deferral.h"
#include "slurm_plugin/controller/shared_limit.h"
#include "slurm_plugin/controller/size_cap.h"
#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/policy/reason.h"

namespace ringrt::controller {

namespace {

struct Scene {
    double now_s = 0;
    const Plan &plan;
    const Limits &limits;
    const Options &options;

    [[nodiscard]] std::string until(double then_s) const { return seconds_text(then_s - now_s); }
};

// The state of a resize under way; empty if there is none.
std::string under_way(const MalleableJob &job, double now_s, const Options &options) {
    if (!job.is_resizing()) return {};
    const std::string since = seconds_text(age_s(job.intent.asked_s, now_s)) + " ago";
    const bool pauses = job.intent.target == 0;
    const std::string next =
        pauses ? std::string("pause") : "restart with " + gpus_text(job.intent.target);
    if (is_waiting(job.stage)) return "signalled " + since + ", requeued to " + next;
    return "signalled " + since + " to save and " + next +
           (pauses ? "" : " instead of " + std::to_string(job.record->gpus_requested)) +
           "; called off after " + seconds_text(options.grace_of(job.intent.grace_s));
}

std::string what_limit(const Limit &limit, const std::string &whose, const Scene &scene) {
    if (limit.paused_until_s > scene.now_s)
        return "; not now" + whose + ": no resizes for " + scene.until(limit.paused_until_s) +
               " because several in a row failed";
    if (limit.is_reached())
        return "; not now" + whose + ": " + std::to_string(limit.in_flight) +
               " resizes are under way, the most allowed at once";
    return {};
}

// What keeps the controller from asking for the size that the policy wants; empty: nothing.
std::string what_delays(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                        const Scene &scene) {
    const int gpus = target.allotment.gpus;
    if (gpus > job.record->gpus_requested && target.placeable_gpus < gpus)
        return "; waits until these GPUs are free";
    if (target.gap_contended) return "; not now: a pending job would take its place";
    const double askable =
        askable_s(scene.plan, target, tracker.wish, policy_options(scene.options));
    if (askable > scene.now_s)
        return "; not for another " + scene.until(askable) +
               ", because a restart is expensive and other jobs may use or need these GPUs first";
    if (std::string text = what_limit(scene.limits.all, "", scene); !text.empty()) return text;
    const auto user = scene.limits.of_user.find(job.record->user_id);
    if (user != scene.limits.of_user.end())
        if (std::string text = what_limit(user->second, " for its user", scene); !text.empty())
            return text;
    if (scene.options.mode == Mode::observe) return "; not signalled (mode: observe)";
    return {};
}

// How what was measured limits its size; empty: it does not.
std::string unmeasured_text(const MalleableJob &job, const Target &target,
                            const JobTracker &tracker, const Scene &scene) {
    const auto limits = [&](std::optional<int> most) {
        return most && *most < job.intent.gpus_max && *most <= target.allotment.gpus;
    };
    const Pool &pool = scene.plan.pools[static_cast<std::size_t>(target.pool)];
    const auto first = unmeasured_size(job, tracker.application, pool);
    if (limits(first)) {
        const std::string size = gpus_text(*first);
        if (job.intent.first_gpus > 0)
            return "; starts with the " + size +
                   " that its script requests because no job of its name was measured yet";
        return "; starts with " + size + " at most because no job of its name was measured yet";
    }
    const auto reach = measured_reach(job, tracker.application, scene.now_s, scene.options);
    if (!limits(reach)) return {};
    const std::string text = "; no more than " + gpus_text(*reach);
    return *reach > job.record->gpus_requested
               ? text + ", four times the most at which it was measured"
               : text + " until its speed is known";
}

std::string what_limits(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                        const Scene &scene) {
    std::string text;
    if (tracker.ceiling.holds(scene.now_s)) {
        const int most = tracker.ceiling.gpus();
        text = "; for " + scene.until(tracker.ceiling.until_s()) +
               (most < job.intent.gpus_min ? " no larger size because Slurm refused to set its MIN"
                                           : " no more than " + gpus_text(most) +
                                                 " because Slurm did not start it with more");
    }
    const int bad = job.intent.bad;
    if (bad > job.intent.gpus_max)
        text += "; no more than " + gpus_text(job.intent.gpus_max) +
                " because it failed soon after its restart with " + std::to_string(bad);
    else if (bad > 0)
        text += "; no fewer than " + gpus_text(job.intent.gpus_min) +
                " because it failed soon after its restart with " + std::to_string(bad);
    const auto most = size_below_limits(job, scene.options);
    if (most && *most < job.intent.gpus_min)
        text += "; the limits of its account, user or QOS leave fewer GPUs than its MIN now";
    else if (most && *most < job.intent.gpus_max && *most <= target.allotment.gpus)
        text += "; no more than " + gpus_text(*most) +
                (keeps_array_slot(job)
                     ? " because another task of its array would take its place"
                     : " because the limits of its account, user or QOS allow no more");
    text += unmeasured_text(job, target, tracker, scene);
    return text;
}

std::string paused_text(const MalleableJob &job, const Scene &scene) {
    const double for_s = age_s(job.intent.since_s, scene.now_s);
    return "; paused " + seconds_text(for_s) + " ago; in at most " +
           seconds_text(std::max(0.0, scene.options.pause_longest_s - for_s)) +
           " it is pending like any other job again";
}

std::string explain_waiting(const MalleableJob &job, const Target &target,
                            const JobTracker &tracker, const Scene &scene) {
    const std::string text =
        policy::explain(target.job, target.allotment, policy_options(scene.options)) +
        what_limits(job, target, tracker, scene);
    if (job.stage == Stage::paused) return text + paused_text(job, scene);
    if (job.stage == Stage::eligible)
        return "released with " + gpus_text(job.record->gpus_requested) +
               ", waits for Slurm to start it; " + text;
    if (tracker.fence.clear_s() > scene.now_s)
        return "not released for " + scene.until(tracker.fence.clear_s()) +
               " because its last run may still be alive on its nodes; " + text;
    return "not released yet; " + text;
}

std::string explain_running(const MalleableJob &job, const Target &target,
                            const JobTracker &tracker, const Scene &scene) {
    const std::string size = gpus_text(job.record->gpus_requested);
    if (target.job.pinned) {
        // The minute after a resize ends by itself, a pending job's wait does not.
        const bool waits_for_other = target.gap_contended && target.why_pinned == kResizedJustNow;
        std::string text = size + ": not resized because " +
                           (waits_for_other ? "a pending job would take its place"
                                            : std::string(target.why_pinned));
        if (tracker.backoff.holds(scene.now_s))
            text += "; tried again in " + scene.until(tracker.backoff.until_s());
        return text;
    }
    if (target.moves_for != 0) {
        const std::string next = gpus_text(target.allotment.gpus);
        const bool is_free = target.placeable_gpus == target.allotment.gpus;
        return "has " + size + ", target " + next + " on other nodes: job " +
               std::to_string(target.moves_for) + " waits for its nodes" +
               (is_free ? what_delays(job, target, tracker, scene)
                        : "; " + next + " on other nodes not free yet");
    }
    const std::string text =
        policy::explain(target.job, target.allotment, policy_options(scene.options));
    if (target.allotment.gpus == job.record->gpus_requested)
        return text + what_limits(job, target, tracker, scene);
    return "has " + size + ", target " + text + what_delays(job, target, tracker, scene) +
           what_limits(job, target, tracker, scene);
}

std::string explain_job(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                        const Scene &scene) {
    if (scene.options.mode == Mode::detach) return "is being handed back to Slurm (mode: detach)";
    if (std::string text = under_way(job, scene.now_s, scene.options); !text.empty()) return text;
    if (job.stage == Stage::held_back)
        return "waits: held, depends on another job, or has a later start time";
    if (target.pool < 0) return "not resized: its partition has no nodes, or starts no jobs now";
    return is_waiting(job.stage) ? explain_waiting(job, target, tracker, scene)
                                 : explain_running(job, target, tracker, scene);
}

}  // namespace

std::vector<Explanation> explain(const Observation &observation,
                                 const std::vector<MalleableJob> &jobs, const Plan &plan,
                                 const std::map<uint32_t, JobTracker> &trackers,
                                 const Limits &limits, const Options &options) {
    const Scene scene{
        .now_s = observation.now_s, .plan = plan, .limits = limits, .options = options};
    const JobTracker nothing;
    std::vector<Explanation> out;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const MalleableJob &job = jobs[i];
        const Target &target = plan.targets[i];
        const auto found = trackers.find(job.record->id);
        const JobTracker &tracker = found == trackers.end() ? nothing : found->second;
        out.push_back({.job_id = job.record->id,
                       .gpus = holds_gpus(job.stage) ? job.record->gpus_requested : 0,
                       .wanted = job.is_resizing() ? job.intent.target : target.allotment.gpus,
                       .reason = job.is_resizing()
                                     ? job.intent.why
                                     : std::string(to_string(target.allotment.reason)),
                       .text = explain_job(job, target, tracker, scene)});
    }
    return out;
}

std::vector<Explanation> explain(const Observation &observation, const Options &options) {
    const std::vector<MalleableJob> jobs = malleable_jobs(observation, options);
    const std::map<uint32_t, JobTracker> none;
    return explain(observation, jobs, decide(observation, jobs, none, options), none, {}, options);
}

}  // namespace ringrt::controller
