// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/policy_input.h"

#include <algorithm>

#include "slurm_plugin/controller/pausing.h"
#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/size_cap.h"
#include "slurm_plugin/controller/speed.h"

namespace ringrt::controller {

using records::IntentState;

namespace {

// From the signal until the job trains again: the gap, and what a run does before its first step.
// Before its own first restart, that of its application's last one counts. If none restarted yet,
// its first start-up is a lower bound.
double restart_cost_s(const records::Intent &intent, const Application &application,
                      const Options &options) {
    if (intent.restart_s > 0) return intent.restart_s + intent.start_up_s;
    if (application.restart_s > 0) return application.restart_s;
    return std::max(options.restart_s, intent.start_up_s);
}

// Adds the job's own telemetry. A job may forge it, but that only changes how its own GPUs are
// valued.
void add_telemetry(const MalleableJob &malleable, const Application &application,
                   const Options &options, policy::Job &job) {
    job.restart_s = restart_cost_s(malleable.intent, application, options);
    job.speed = speed_of(application);
    job.measured = measured_speeds(application);
    if (application.steps_total > 0) job.steps_left = application.steps_total;
    if (!malleable.record->telemetry) return;
    const records::Telemetry &telemetry = *malleable.record->telemetry;
    job.steps_done = telemetry.steps_done();
    if (telemetry.steps_left >= 0) job.steps_left = static_cast<double>(telemetry.steps_left);
    if (telemetry.step_ms > 0 || telemetry.samples > 0) {
        job.speed = speed_of(telemetry, application);
        job.measured = measured_speeds(telemetry, application);
    }
}

// Training pauses for less than 0.1 s, but the GPUs that join or leave, half of a doubled job,
// compute nothing while Slurm starts or ends an extension (doc/live.md) and its program starts.
constexpr double kLiveResize_s = 1;

double live_cost_s(const records::Intent &intent) {
    return std::max(kLiveResize_s, intent.start_up_s / 2);
}

// A training that is resized in place starts with MIN: it can return the base's GPUs only by a
// requeue.
void cap_if_live(const MalleableJob &malleable, const JobTracker &tracker, double now_s,
                 const Options &options, policy::Job &job) {
    if (malleable.is_live) job.restart_s = live_cost_s(malleable.intent);
    job.by_parts = malleable.is_live && malleable.intent.layout.gpus_per_node == 0;
    if (malleable.is_live && tracker.growth.holds(now_s))
        job.gpus_cap = std::min(job.gpus_cap, malleable.record->gpus_requested);
    if (options.resize == Resize::live && malleable.intent.live && is_waiting(malleable.stage) &&
        !malleable.is_resizing())
        job.gpus_cap = malleable.intent.gpus_min;
}

policy::Job policy_job(const MalleableJob &malleable, const JobTracker &tracker, double now_s,
                       const Options &options) {
    const JobRecord &record = *malleable.record;
    policy::Job job{.id = record.id,
                    .gpus_min = malleable.intent.gpus_min,
                    .gpus_max = malleable.intent.gpus_max,
                    .submit_s = record.submit_s,
                    .priority = record.priority};
    job.may_pause = may_pause_now(malleable, now_s, options);
    job.paused = gave_up_its_place(malleable, now_s, options);
    if (tracker.ceiling.holds(now_s)) job.gpus_cap = tracker.ceiling.gpus();
    add_telemetry(malleable, tracker.application, options, job);
    cap_if_live(malleable, tracker, now_s, options, job);
    return job;
}

// Whether the job is on a node that is drained, about to restart, or silent: GPUs that it leaves
// there cannot be used again.
bool uses_closed_node(const Pool &pool, const JobRecord &record) {
    const std::vector<int> &free = pool.free.node_gpus;
    return std::ranges::any_of(record.gpus_on_node, [&](const auto &share) {
        const auto node = static_cast<std::size_t>(share.first);
        return share.first >= 0 && node < free.size() && free[node] < 0;
    });
}

// Whether the job is on a node that Slurm would not give it again for its remaining time.
bool uses_reserved_node(const std::vector<NodeRecord> &nodes, const JobRecord &record) {
    return std::ranges::any_of(record.gpus_on_node, [&](const auto &share) {
        const auto node = static_cast<std::size_t>(share.first);
        return share.first >= 0 && node < nodes.size() && is_reserved_too_soon(record, nodes[node]);
    });
}

// The GPUs that a job of this size keeps on its present nodes; empty if it has fewer now.
std::vector<policy::NodeShare> kept_shares(const JobRecord &record, int gpus) {
    std::vector<policy::NodeShare> kept;
    for (const auto &[node, held] : record.gpus_on_node) {
        if (gpus > 0) kept.emplace_back(node, std::min(held, gpus));
        gpus -= held;
    }
    return gpus > 0 ? std::vector<policy::NodeShare>{} : kept;
}

// Why a job that trains is left alone; empty: it is not.
std::string_view why_trains_on(const MalleableJob &malleable, const JobTracker &tracker,
                               const Observation &observation, const Pool &pool, bool has_pending,
                               const Options &options) {
    const std::string_view why =
        why_not_askable(malleable, tracker, observation.now_s, has_pending, options);
    if (!why.empty()) return why;
    if (uses_closed_node(pool, *malleable.record)) return "one of its nodes takes no new jobs";
    if (uses_reserved_node(observation.nodes, *malleable.record))
        return "a reservation of one of its nodes begins before its time limit ends";
    return {};
}

// The size of a job that is asked to resize, or restarts, was decided when it was asked. Nothing is
// reserved for a silent job.
void set_resizing(const MalleableJob &malleable, double now_s, PolicyInput &input) {
    policy::Job &job = input.job;
    const int gpus_now = malleable.record->gpus_requested;
    const bool grows = malleable.intent.target > gpus_now;
    job.gpus_now = grows && is_silent(malleable, now_s) ? gpus_now : malleable.intent.target;
    // A job that returns GPUs of a node to rigid jobs keeps its other GPUs there, so the other
    // jobs there do not get the whole node. (Other jobs may move to a place that becomes free.)
    if (malleable.intent.why == to_string(policy::Reason::gave_to_rigid))
        job.held = kept_shares(*malleable.record, job.gpus_now);
    if (job.gpus_now > 0 || !is_waiting(malleable.stage))
        input.why_pinned = "its resize is under way";
}

// Its size with the ranks that are about to join and without those that are about to leave. It does
// not grow further, and may give up the last ones if they have not joined.
void set_changing(const MalleableJob &malleable, PolicyInput &input) {
    policy::Job &job = input.job;
    job.gpus_now =
        malleable.record->gpus_requested + pending_gpus(malleable) - leaving_gpus(malleable);
    job.held = kept_shares(*malleable.record, job.gpus_now);
    job.gpus_cap = std::min(job.gpus_cap, job.gpus_now);
    job.pinned = malleable.extensions.empty() || !is_to_join(malleable.extensions.back());
    input.why_pinned = "ranks of it are joining or leaving";
}

void cap(policy::Job &job, std::optional<int> most) {
    if (most) job.gpus_cap = std::min(job.gpus_cap, *most);
}

}  // namespace

PolicyInput policy_input(const MalleableJob &malleable, const JobTracker &tracker,
                         const Observation &observation, const Pool &pool, bool has_pending,
                         const Options &options) {
    PolicyInput input{.job = policy_job(malleable, tracker, observation.now_s, options),
                      .why_pinned = {}};
    cap(input.job, evenly_shared_size(malleable, observation, pool));
    cap(input.job, allowed_size(malleable, options));
    cap(input.job, unmeasured_size(malleable, tracker.application, pool));
    cap(input.job, measured_reach(malleable, tracker.application, observation.now_s, options));
    const bool waits = is_waiting(malleable.stage);
    if (malleable.is_resizing() && (waits || malleable.intent.state == IntentState::asked)) {
        set_resizing(malleable, observation.now_s, input);
    } else if (!waits && (is_changing(malleable) || malleable.intent.keep > 0)) {
        set_changing(malleable, input);
        return input;
    } else if (!waits) {
        input.job.gpus_now = malleable.record->gpus_requested;
        input.job.held = malleable.record->gpus_on_node;
        input.why_pinned =
            why_trains_on(malleable, tracker, observation, pool, has_pending, options);
    }
    input.job.pinned = !input.why_pinned.empty();
    return input;
}

}  // namespace ringrt::controller
