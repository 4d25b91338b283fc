// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/decision.h"

#include <algorithm>
#include <set>

#include "slurm_plugin/controller/speed.h"
#include "slurm_plugin/policy/engine/packing.h"

namespace ringrt::controller {

using policy::Packing;
using records::IntentState;

namespace {

// What the job's own reports say: it may forge them, which only changes how its own GPUs are
// valued.
void add_telemetry(policy::Job &job, const JobView &view, const Options &options) {
    job.restart_s = view.intent.restart_s > 0 ? view.intent.restart_s : options.restart_s;
    job.speed = model::default_speed_model();
    if (!view.telemetry) return;
    const records::Telemetry &telemetry = *view.telemetry;
    job.steps_done = static_cast<double>(telemetry.step);
    if (telemetry.steps_left >= 0) job.steps_left = static_cast<double>(telemetry.steps_left);
    job.speed = speed_of(telemetry);
    if (view.intent.restart_s > 0) job.restart_s += telemetry.load_ms / 1000;
}

policy::Job policy_job(const JobView &view, const JobMemory &memory, double now_s,
                       const Options &options) {
    const JobRecord &record = *view.record;
    policy::Job job{.id = record.id,
                    .gpus_min = view.intent.gpus_min,
                    .gpus_max = view.intent.gpus_max,
                    .submit_s = record.submit_s,
                    .priority = record.priority};
    if (now_s < memory.ceiling_until_s) job.gpus_cap = memory.ceiling_gpus;
    add_telemetry(job, view, options);
    return job;
}

// On a node that is drained, about to restart, or silent: what leaves it does not come back.
bool stands_on_closed(const Pool &pool, const JobRecord &record) {
    const std::vector<int> &free = pool.free.node_gpus;
    return std::ranges::any_of(record.gpus_on_node, [&](const auto &share) {
        const auto node = static_cast<std::size_t>(share.first);
        return share.first >= 0 && node < free.size() && free[node] < 0;
    });
}

// The size with which a job stands in the plan, and why it is left alone there.
void plan(Wish &wish, const JobView &view, const JobMemory &memory, double now_s, const Pool &pool,
          const Options &options) {
    const JobRecord &record = *view.record;
    policy::Job &job = wish.job;
    if (record.phase == JobPhase::pending) {
        // Of a resize under way the size was decided when it was asked; others are decided now.
        job.gpus_now = is_resizing(view) ? view.intent.target : 0;
        if (job.gpus_now > 0) wish.why_pinned = "its resize is under way";
    } else if (is_resizing(view) && view.intent.state == IntentState::asked) {
        job.gpus_now = view.intent.target;
        wish.why_pinned = "its resize is under way";
    } else {
        job.gpus_now = record.gpus_requested;
        job.held = record.gpus_on_node;
        wish.why_pinned = why_not_askable(view, memory, now_s, pool.somebody_waits, options);
        if (wish.why_pinned.empty() && stands_on_closed(pool, record))
            wish.why_pinned = "one of its nodes takes no new jobs";
    }
    job.pinned = !wish.why_pinned.empty();
}

// Would a waiting rigid job, for which no GPUs are kept, fit once this job has stopped, or another
// job of its user come under a limit? While a job is away for two seconds it can not be first in
// the queue. Shrinks for rigid jobs are made all the same.
bool may_lose_place(const Pool &pool, const policy::Job &job, bool at_limit,
                    policy::Reason reason) {
    if (reason == policy::Reason::gave_to_rigid) return false;
    if (at_limit) return true;
    if (pool.smallest_rigid == 0) return false;
    int free_gpus = 0;
    for (const int gpus : pool.free.node_gpus) free_gpus += std::max(0, gpus);
    return pool.smallest_rigid <= free_gpus + job.gpus_now;
}

// Those of whom a job waits at a limit: it starts as soon as another of theirs leaves, which then
// waits itself until one of them ends.
std::set<uint32_t> users_at_limit(const Observation &observation) {
    std::set<uint32_t> users;
    for (const JobRecord &job : observation.jobs)
        if (job.phase == JobPhase::pending && job.pending_reason == PendingReason::limit)
            users.insert(job.user_id);
    return users;
}

// Which of the wishes could be fulfilled at once: waiting jobs first, then growths by their gain.
// What one gets is not there for the next.
void match_free(const Pool &pool, const std::vector<JobView> &jobs, std::vector<Wish> &wishes,
                double now_s, const Options &options) {
    Packing packing(pool.free);
    std::vector<std::size_t> waiting, growing;
    for (const std::size_t i : pool.jobs) {
        if (wishes[i].job.id == 0) continue;
        if (jobs[i].record->phase == JobPhase::pending) {
            if (!is_kept_back(jobs[i], now_s, options)) waiting.push_back(i);
        } else if (!wishes[i].job.pinned && wishes[i].allotment.gpus > wishes[i].job.gpus_now) {
            growing.push_back(i);
        } else {
            wishes[i].fitting = wishes[i].allotment.gpus;
        }
    }
    std::stable_sort(waiting.begin(), waiting.end(), [&](std::size_t a, std::size_t b) {
        const bool resizing_a = is_resizing(jobs[a]), resizing_b = is_resizing(jobs[b]);
        if (resizing_a != resizing_b) return resizing_a;
        const JobRecord &x = *jobs[a].record, &y = *jobs[b].record;
        return x.priority != y.priority ? x.priority > y.priority : x.submit_s < y.submit_s;
    });
    for (const std::size_t i : waiting) {
        const int most = std::max(wishes[i].allotment.gpus, jobs[i].intent.gpus_min);
        wishes[i].fitting = packing.place_largest({jobs[i].intent.gpus_min, most});
    }
    std::stable_sort(growing.begin(), growing.end(), [&](std::size_t a, std::size_t b) {
        return wishes[a].allotment.gain_s_per_gpu > wishes[b].allotment.gain_s_per_gpu;
    });
    for (const std::size_t i : growing) {
        const auto &held = wishes[i].job.held;
        packing.release(held);
        wishes[i].fitting = packing.place(wishes[i].allotment.gpus) ? wishes[i].allotment.gpus
                                                                    : wishes[i].job.gpus_now;
        packing.occupy(held);  // they are not free before it has left
    }
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

Decision decide(const Observation &observation, const std::vector<JobView> &jobs,
                const std::map<uint32_t, JobMemory> &memory, const Options &options) {
    Decision out{.pools = make_pools(observation, jobs, options),
                 .wishes = std::vector<Wish>(jobs.size())};
    const policy::Policy *policy = policy::find_policy(options.policy);
    if (!policy) return out;
    const JobMemory nothing;
    const std::set<uint32_t> limited = users_at_limit(observation);
    for (std::size_t p = 0; p < out.pools.size(); ++p) {
        const Pool &pool = out.pools[p];
        std::vector<policy::Job> input;
        std::vector<std::size_t> index;
        for (const std::size_t i : pool.jobs) {
            if (jobs[i].record->phase == JobPhase::pending &&
                is_kept_back(jobs[i], observation.now_s, options))
                continue;
            Wish &wish = out.wishes[i];
            const auto found = memory.find(jobs[i].record->id);
            const JobMemory &remembered = found == memory.end() ? nothing : found->second;
            wish.pool = static_cast<int>(p);
            wish.job = policy_job(jobs[i], remembered, observation.now_s, options);
            if (const int cpus = jobs[i].record->cpus_per_task; cpus > 1)
                wish.job.gpus_cap =
                    std::min(wish.job.gpus_cap, reach_of(observation, pool, cpus).gpus_in_all);
            plan(wish, jobs[i], remembered, observation.now_s, pool, options);
            input.push_back(wish.job);
            index.push_back(i);
        }
        const std::vector<policy::Allotment> allotments =
            policy->decide(input, pool.capacity, policy_options(options));
        for (std::size_t k = 0; k < index.size() && k < allotments.size(); ++k) {
            Wish &wish = out.wishes[index[k]];
            wish.allotment = allotments[k];
            const bool at_limit = limited.contains(jobs[index[k]].record->user_id);
            wish.may_lose_place = may_lose_place(pool, wish.job, at_limit, wish.allotment.reason);
        }
        match_free(pool, jobs, out.wishes, observation.now_s, options);
    }
    return out;
}

}  // namespace ringrt::controller
