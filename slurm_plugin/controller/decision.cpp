// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/decision.h"

#include <algorithm>
#include <set>

#include "slurm_plugin/controller/free_places.h"
#include "slurm_plugin/controller/node_room.h"
#include "slurm_plugin/controller/pausing.h"
#include "slurm_plugin/controller/planned_places.h"
#include "slurm_plugin/controller/policy_input.h"
#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/shared_limit.h"

namespace ringrt::controller {

using records::IntentState;

namespace {

// Whether another job would take the place when this job stops: a pending rigid job without
// reserved GPUs, or a job that is pending at a shared limit. During its restart of two seconds a
// job cannot be first in the queue. Shrinks and pauses for rigid jobs are made anyway.
bool is_gap_contended(const Observation &observation, const Pool &pool, const NodeRoom &node_room,
                      const JobRecord &record, const policy::Job &job, bool at_limit,
                      policy::Reason reason) {
    const bool pauses = reason == policy::Reason::paused && job.gpus_now > 0;
    if (reason == policy::Reason::gave_to_rigid) return false;
    if (pauses && pool.capacity.kept_for_rigid > 0) return false;
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

// Pending tasks of one array are separate, identical jobs. The policy sees each of them, up to the
// number that the pool could start at once.
constexpr int kSiblingsMost = 1024;  // in a pool

void add_siblings(const std::vector<MalleableJob> &jobs, const std::vector<Target> &targets,
                  const Pool &pool, std::vector<policy::Job> &input,
                  std::vector<std::size_t> &in_input) {
    int left = std::min(policy::total_gpus(pool.capacity), kSiblingsMost);
    const std::size_t count = input.size();
    for (std::size_t k = 0; k < count; ++k) {
        const MalleableJob &job = jobs[in_input[k]];
        const policy::Job &sibling = targets[in_input[k]].job;
        if (!is_waiting(job.stage) || sibling.pinned) continue;
        for (int i = 1; i < job.record->tasks_waiting && left >= sibling.gpus_min; ++i) {
            left -= sibling.gpus_min;
            input.push_back(sibling);
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

// Extensions that have not joined are given up for pending jobs only.
void keep_joining(const Pool &pool, const MalleableJob &malleable, Target &target) {
    const bool is_needed =
        target.allotment.reason == policy::Reason::gave_to_rigid || pool.has_pending;
    if (!is_changing(malleable) || target.job.pinned || is_needed) return;
    target.job.pinned = true;
    target.allotment = {.gpus = target.job.gpus_now, .reason = policy::Reason::pinned};
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
        target.gap_contended = is_wanted_at_limit(at_limits, *jobs[i].record);
        const bool has_pending = pool.has_pending || target.gap_contended;
        PolicyInput seen = policy_input(jobs[i], tracker, observation, pool, has_pending, options);
        target.job = std::move(seen.job);
        target.why_pinned = seen.why_pinned;
        input.push_back(target.job);
        let_move(pool, i, *jobs[i].record, target, input.back());
        place_min(pool, target, input.back());
        in_input.push_back(i);
    }
    const std::size_t count = input.size();
    add_siblings(jobs, out.targets, pool, input, in_input);
    const policy::Capacity capacity = capacity_for(pool, observation, jobs, input);
    auto allotments = policy.decide(input, capacity, policy_options(options));
    join_siblings(count, in_input, allotments);
    for (std::size_t k = 0; k < allotments.size(); ++k) {
        Target &target = out.targets[in_input[k]];
        target.allotment = allotments[k];
        take_moves(pool, target);
        keep_joining(pool, jobs[in_input[k]], target);
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

std::set<uint32_t> ids_that_may_pause(const std::vector<MalleableJob> &jobs, double now_s,
                                      const Options &options) {
    std::set<uint32_t> ids;
    for (const MalleableJob &job : jobs)
        if (may_pause_now(job, now_s, options)) ids.insert(job.record->id);
    return ids;
}

}  // namespace

Plan decide(const Observation &observation, const std::vector<MalleableJob> &jobs,
            const std::map<uint32_t, JobTracker> &trackers, const Options &options) {
    NodeRoom node_room(observation, ids_that_may_pause(jobs, observation.now_s, options));
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
