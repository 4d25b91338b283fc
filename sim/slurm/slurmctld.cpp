// SPDX-License-Identifier: BSD-3-Clause
#include "sim/slurm/slurmctld.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ringrt::sim {

using controller::JobPhase;
using controller::JobRecord;
using controller::PendingReason;
using controller::RpcStatus;

namespace {

constexpr double kForEver = std::numeric_limits<double>::infinity();
constexpr int64_t kLentNice = 1'000'000;  // puts a job first in the queue

void end_run(JobRecord &job, JobPhase next) {
    job.gpus_on_node.clear();
    job.start_s = job.suspended_s = 0;
    job.phase = next;
}

bool is_excluded(const JobRecord &job, std::size_t node) {
    return std::ranges::find(job.excluded_nodes, static_cast<int>(node)) !=
           job.excluded_nodes.end();
}

// All free GPUs of each node.
std::optional<Place> find_any_place(const JobRecord &job, const std::vector<int> &free) {
    Place place;
    int left = job.gpus_requested;
    for (std::size_t i = 0; i < free.size() && left > 0; ++i) {
        if (free[i] <= 0 || is_excluded(job, i)) continue;
        place.push_back({static_cast<int>(i), std::min(free[i], left)});
        left -= place.back().second;
    }
    const bool is_too_wide =
        job.nodes_most > 0 && place.size() > static_cast<std::size_t>(job.nodes_most);
    return left > 0 || is_too_wide ? std::nullopt : std::optional(place);
}

}  // namespace

// ---- a job's life -----------------------------------------------------------------------------

std::optional<Place> find_place(const JobRecord &job, const std::vector<int> &free) {
    if (job.any_shares) return find_any_place(job, free);
    const int nodes = std::max(1, job.nodes_requested);
    const int share = (job.gpus_requested + nodes - 1) / nodes;
    Place place;
    int left = job.gpus_requested;
    for (std::size_t i = 0; i < free.size() && left > 0; ++i) {
        const int here = std::min(share, left);
        if (free[i] < here || is_excluded(job, i)) continue;
        place.push_back({static_cast<int>(i), here});
        left -= here;
    }
    if (left > 0 || static_cast<int>(place.size()) > nodes) return std::nullopt;
    return place;
}

void start_run(JobRecord &job, Place place, double now_s) {
    job.gpus_on_node = std::move(place);
    job.phase = JobPhase::running;
    job.pending_reason = PendingReason::none;
    job.start_s = std::floor(now_s);
}

void stop_run(JobRecord &job, double now_s) {
    job.phase = JobPhase::completing;
    job.end_s = std::floor(now_s);
}

void end_in_requeue(JobRecord &job, double hold_s) {
    end_run(job, JobPhase::pending);
    job.pending_reason = PendingReason::begin_time;
    job.begin_s = job.end_s + hold_s;
    ++job.restarts;
}

void end_for_good(JobRecord &job, controller::End::How how) {
    const double start_s = job.start_s;
    end_run(job, JobPhase::finished);
    job.start_s = start_s;
    job.end = controller::End{.how = how};
}

// ---- requests ---------------------------------------------------------------------------------

RpcStatus answer_to_write(const JobRecord &job) {
    if (job.phase == JobPhase::finished) return RpcStatus::refused;
    return job.phase == JobPhase::completing ? RpcStatus::busy : RpcStatus::ok;
}

RpcStatus answer_to_update(const JobRecord &job) {
    if (job.phase == JobPhase::finished) return RpcStatus::refused;
    return job.phase == JobPhase::pending ? RpcStatus::ok : RpcStatus::busy;
}

RpcStatus answer_to_signal(const JobRecord &job) {
    if (job.phase == JobPhase::completing) return RpcStatus::busy;
    return job.phase == JobPhase::running ? RpcStatus::ok : RpcStatus::refused;
}

void set_admin_comment(JobRecord &job, const std::string &text) {
    job.admin_comment = text;
    job.intent = records::parse_intent(text);
}

void apply(JobRecord &job, const controller::PendingUpdate &update, int64_t own_nice) {
    if (update.size) {
        job.gpus_requested = update.size->gpus;
        job.nodes_requested = update.size->nodes;
    }
    if (update.time_limit_s) job.time_limit_s = update.time_limit_s;
    if (update.begin_s) job.begin_s = *update.begin_s;
    if (update.nice)
        job.nice = *update.nice;
    else if (update.first_in_queue && job.nice == own_nice)
        job.nice -= kLentNice;
    if (update.run_mails) job.run_mails = *update.run_mails;
    if (update.excluded_nodes) job.excluded_nodes = *update.excluded_nodes;
    if (!update.admin_comment.empty()) set_admin_comment(job, update.admin_comment);
}

void apply(JobRecord &job, const controller::Settings &settings) {
    if (settings.nice) job.nice = *settings.nice;
    if (settings.run_mails) job.run_mails = *settings.run_mails;
    if (settings.no_excluded_nodes) job.excluded_nodes.clear();
}

// ---- the queue --------------------------------------------------------------------------------

bool Queue::start_all() {
    std::stable_sort(waiting.begin(), waiting.end(), [](const JobRecord *a, const JobRecord *b) {
        if (a->nice != b->nice) return a->nice < b->nice;
        return a->priority > b->priority;
    });
    bool blocked = false, changed = false;
    policy::Reservation first;
    for (JobRecord *job : waiting) {
        const double ends_s = job->time_limit_s ? double(*job->time_limit_s) : kForEver;
        const bool beside = job->gpus_requested <= first.spare;
        const bool may = !blocked || first.in_s == kForEver || ends_s <= first.in_s || beside;
        if (may && start(*job)) {
            if (blocked && ends_s > first.in_s) first.spare -= job->gpus_requested;
            continue;
        }
        const PendingReason reason = blocked ? PendingReason::priority : PendingReason::resources;
        changed |= job->pending_reason != reason;
        job->pending_reason = reason;
        if (!blocked) first = reserve(job->gpus_requested);
        blocked = true;
    }
    return changed;
}

void Ends::add(const JobRecord &job) {
    if (job.gpus_on_node.empty()) return;
    const double left_s =
        job.time_limit_s ? job.start_s + static_cast<double>(*job.time_limit_s) - now_s_ : kForEver;
    ends_.emplace_back(left_s, job.gpus_requested);
}

policy::Reservation Ends::reserve(int free, int gpus) && {
    return policy::reserve(std::move(ends_), free, gpus);
}

}  // namespace ringrt::sim
