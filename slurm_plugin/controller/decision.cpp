// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/decision.h"

#include <algorithm>

#include "slurm_plugin/controller/free_places.h"
#include "slurm_plugin/controller/node_room.h"
#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/shared_limit.h"
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

// The job's size in the plan, and why it is left alone.
void set_present(Target &target, const MalleableJob &malleable, const JobTracker &tracker,
                 const Observation &observation, const Pool &pool, bool has_pending,
                 const Options &options) {
    const double now_s = observation.now_s;
    policy::Job &job = target.job;
    const bool waits = is_waiting(malleable.stage);
    if (malleable.is_resizing() && (waits || malleable.intent.state == IntentState::asked)) {
        // Its size was decided when it was asked. Nothing is reserved for a silent job.
        const bool grows = malleable.intent.target > malleable.record->gpus_requested;
        job.gpus_now = grows && is_silent(malleable, now_s) ? malleable.record->gpus_requested
                                                            : malleable.intent.target;
        // A job that returns GPUs of a node to rigid jobs keeps its other GPUs there, so the other
        // jobs there do not get the whole node. (Other jobs may move to a place that becomes free.)
        if (malleable.intent.why == to_string(policy::Reason::gave_to_rigid))
            job.held = kept_shares(*malleable.record, job.gpus_now);
        if (job.gpus_now > 0 || !waits) target.why_pinned = "its resize is under way";
    } else if (!waits) {
        const bool is_changing = controller::is_changing(malleable) || malleable.intent.keep > 0;
        job.gpus_now = malleable.record->gpus_requested;
        job.held = malleable.record->gpus_on_node;
        if (is_changing) {
            job.gpus_now += pending_gpus(malleable) - leaving_gpus(malleable);
            job.held = kept_shares(*malleable.record, job.gpus_now);
            target.why_pinned = "ranks of it are joining or leaving";
            job.pinned = true;
            return;
        }
        target.why_pinned = why_not_askable(malleable, tracker, now_s, has_pending, options);
        if (target.why_pinned.empty() && uses_closed_node(pool, *malleable.record))
            target.why_pinned = "one of its nodes takes no new jobs";
        if (target.why_pinned.empty() && uses_reserved_node(observation.nodes, *malleable.record))
            target.why_pinned =
                "a reservation of one of its nodes begins before its time limit ends";
    }
    job.pinned = !target.why_pinned.empty();
}

// Whether another job would take the place when this job stops: a pending rigid job without
// reserved GPUs, or a job that is pending at a shared limit. During its restart of two seconds a
// job cannot be first in the queue. Shrinks for rigid jobs are made anyway.
bool is_gap_contended(const Observation &observation, const Pool &pool, const NodeRoom &node_room,
                      const JobRecord &record, const policy::Job &job, bool at_limit,
                      policy::Reason reason) {
    if (reason == policy::Reason::gave_to_rigid) return false;
    if (at_limit) return true;
    if (pool.unserved.empty()) return false;
    int free_gpus = 0;
    for (const int gpus : pool.free.node_gpus) free_gpus += std::max(0, gpus);
    for (const int gpus : pool.asleep) free_gpus += gpus;
    // A job without nodes yet may be placed on any.
    const auto could_use = [&](const JobRecord *rigid) {
        if (rigid->gpus_requested == 0) return node_room.could_follow(observation, *rigid, record);
        return rigid->gpus_requested <= free_gpus + job.gpus_now &&
               (job.held.empty() || std::ranges::any_of(job.held, [&](const auto &share) {
                    const auto node = static_cast<std::size_t>(share.first);
                    return share.first < 0 || node >= observation.nodes.size() ||
                           may_use(*rigid, observation.nodes[node], share.first);
                }));
    };
    return std::ranges::any_of(pool.unserved, could_use);
}

// Whether a job pending at a limit would start in this one's place as soon as this one leaves.
bool is_wanted_at_limit(const std::vector<const JobRecord *> &at_limits, const JobRecord &job) {
    return std::ranges::any_of(
        at_limits, [&](const JobRecord *waiting) { return would_follow(*waiting, job); });
}

}  // namespace

policy::Options policy_options(const Options &options) {
    policy::Options out;
    if (const policy::Policy *policy = policy::find_policy(options.policy))
        out = policy::options_of(*policy, [&](const policy::Param &param) {
            const auto set = options.policy_params.find(param.name);
            return set == options.policy_params.end() ? param.initial : set->second;
        });
    out.payback = options.payback;
    return out;
}

namespace {

// Caps the size at what the nodes that the job may use can give it in even shares.
void cap_by_reach(const Observation &observation, const Pool &pool, const MalleableJob &of,
                  policy::Job &job) {
    const JobRecord &record = *of.record;
    const records::Layout &layout = of.intent.layout;
    if (!is_choosy(record, pool) && layout.gpus_per_node == 0) return;
    const Reach reach = reach_of(observation, pool, record, layout);
    const int now = record.phase != JobPhase::pending ? record.gpus_requested : 0;
    const int most = now > 0 ? std::max(reach.gpus_lent, now) : reach.gpus_in_all;
    job.gpus_cap = std::min(job.gpus_cap, most_evenly(reach, layout, job.gpus_min, now, most));
}

// Caps the size at what shared limits allow. A job that is pending for its first GPUs gets MIN.
void cap_by_limits(const MalleableJob &of, const Options &options, policy::Job &job) {
    if (const auto most = size_below_limits(of, options))
        job.gpus_cap = std::min(job.gpus_cap, std::max(*most, job.gpus_min));
}

// A moving job holds no place in the policy's input. A job that is to be asked to move is passed to
// the policy as one that is pending. The policy does not know which nodes a job may use: if they
// differ, the job moves with MIN to the planned place, and what others have borrowed there is
// returned.
void let_move(const Pool &pool, std::size_t index, const JobRecord &record, Target &target,
              policy::Job &seen) {
    const auto found = pool.moving.find(index);
    if (found == pool.moving.end()) return;
    const auto &[rigid, to] = found->second;
    const bool is_to_planned_place = pool.is_mixed || !record.features.empty();
    seen.held.clear();
    if (!target.job.pinned) {
        target.moves_for = rigid;
        seen.gpus_now = is_to_planned_place ? seen.gpus_min : 0;
        seen.pinned = is_to_planned_place;
    }
    if (is_to_planned_place && seen.gpus_now == seen.gpus_min) seen.held = to;
}

// A job without a place elsewhere stays. What other jobs give is for the jobs that move, and so in
// the end for the rigid job.
void take_moves(const Pool &pool, Target &target) {
    if (target.moves_for != 0 && target.allotment.gpus == 0) {
        target.allotment.gpus = target.job.gpus_now;
        target.moves_for = 0;
    }
    const bool gives = !pool.moving.empty() && target.allotment.gpus < target.job.gpus_now;
    if (target.moves_for != 0 || gives) target.allotment.reason = policy::Reason::gave_to_rigid;
}

// Pending tasks of one array are separate, identical jobs. The policy sees each of them, up to the
// number that the pool could start at once.
constexpr int kSiblingsMost = 1024;  // in a pool

void add_siblings(const std::vector<MalleableJob> &jobs, const Pool &pool,
                  std::vector<policy::Job> &input, std::vector<std::size_t> &in_input) {
    int left = std::min(policy::total_gpus(pool.capacity), kSiblingsMost);
    const std::size_t count = input.size();
    for (std::size_t k = 0; k < count; ++k) {
        const MalleableJob &job = jobs[in_input[k]];
        if (!is_waiting(job.stage) || input[k].pinned) continue;
        for (int i = 1; i < job.record->tasks_waiting && left >= input[k].gpus_min; ++i) {
            left -= input[k].gpus_min;
            input.push_back(input[k]);
            in_input.push_back(in_input[k]);
        }
    }
}

// The shared record gets the smallest of the tasks' sizes, so that all of them start. Those with
// more to gain grow later.
void join_siblings(std::size_t count, const std::vector<std::size_t> &in_input,
                   std::vector<policy::Allotment> &allotments) {
    for (std::size_t k = count; k < allotments.size(); ++k) {
        const auto first = std::ranges::find(in_input, in_input[k]) - in_input.begin();
        policy::Allotment &shared = allotments[static_cast<std::size_t>(first)];
        const int gpus = allotments[k].gpus;
        if (gpus > 0 && (shared.gpus == 0 || gpus < shared.gpus)) shared = allotments[k];
    }
    allotments.resize(std::min(count, allotments.size()));
}

// The policy's sizes for the jobs of one pool.
void decide_pool(int index, const Observation &observation, const NodeRoom &node_room,
                 const std::vector<MalleableJob> &jobs,
                 const std::map<uint32_t, JobTracker> &trackers,
                 const std::vector<const JobRecord *> &at_limits, const policy::Policy &policy,
                 const Options &options, Plan &out) {
    const Pool &pool = out.pools[static_cast<std::size_t>(index)];
    const JobTracker nothing;
    std::vector<policy::Job> input;
    std::vector<std::size_t> in_input;
    for (const std::size_t i : pool.jobs) {
        if (jobs[i].stage == Stage::held_back) continue;
        Target &target = out.targets[i];
        const auto found = trackers.find(jobs[i].record->id);
        const JobTracker &tracker = found == trackers.end() ? nothing : found->second;
        target.pool = index;
        target.job = policy_job(jobs[i], tracker, observation.now_s, options);
        cap_by_reach(observation, pool, jobs[i], target.job);
        cap_by_limits(jobs[i], options, target.job);
        target.gap_contended = is_wanted_at_limit(at_limits, *jobs[i].record);
        set_present(target, jobs[i], tracker, observation, pool,
                    pool.has_pending || target.gap_contended, options);
        input.push_back(target.job);
        let_move(pool, i, *jobs[i].record, target, input.back());
        in_input.push_back(i);
    }
    const std::size_t count = input.size();
    add_siblings(jobs, pool, input, in_input);
    const policy::Capacity capacity = capacity_for(pool, observation, jobs, input);
    auto allotments = policy.decide(input, capacity, policy_options(options));
    join_siblings(count, in_input, allotments);
    for (std::size_t k = 0; k < allotments.size(); ++k) {
        Target &target = out.targets[in_input[k]];
        target.allotment = allotments[k];
        take_moves(pool, target);
        const bool in_place = jobs[in_input[k]].is_live;
        target.gap_contended =
            !in_place &&
            is_gap_contended(observation, pool, node_room, *jobs[in_input[k]].record, target.job,
                             target.gap_contended, target.allotment.reason);
    }
    match_free(observation, pool, jobs, out.targets);
}

// Notes the pools in which a job is leaving to restart smaller, or will be asked to.
void note_room_coming(const std::vector<MalleableJob> &jobs, Plan &plan) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Target &target = plan.targets[i];
        if (target.pool < 0 || !holds_gpus(jobs[i].stage)) continue;
        const bool leaves = jobs[i].intent.state == IntentState::asked &&
                            jobs[i].intent.target < jobs[i].record->gpus_requested;
        const bool will_be_asked =
            !target.job.pinned &&
            (target.moves_for != 0 || target.allotment.gpus < target.job.gpus_now);
        if (leaves || will_be_asked)
            plan.pools[static_cast<std::size_t>(target.pool)].room_is_coming = true;
    }
}

}  // namespace

Plan decide(const Observation &observation, const std::vector<MalleableJob> &jobs,
            const std::map<uint32_t, JobTracker> &trackers, const Options &options) {
    NodeRoom node_room(observation);
    Plan out{.pools = make_pools(observation, jobs, node_room, options),
             .targets = std::vector<Target>(jobs.size())};
    const policy::Policy *policy = policy::find_policy(options.policy);
    if (!policy) return out;
    const std::vector<const JobRecord *> at_limits = waiting_at_limits(observation);
    for (std::size_t p = 0; p < out.pools.size(); ++p)
        decide_pool(static_cast<int>(p), observation, node_room, jobs, trackers, at_limits, *policy,
                    options, out);
    give_at_limits(at_limits, jobs, observation.now_s, out);
    note_room_coming(jobs, out);
    return out;
}

}  // namespace ringrt::controller
