// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/waiting.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "slurm_plugin/controller/lent_exclusions.h"
#include "slurm_plugin/controller/lent_settings.h"
#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/controller/time_limit.h"
#include "slurm_plugin/policy/policy.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::controller {

using records::Intent;
using records::IntentState;

namespace {

using Kind = Action::Kind;

constexpr double kLentMost_s = 60;          // a start takes a second or two if its size is free
constexpr double kImpossibleAgain_s = 300;  // until the smallest size is retried

bool is_on_ladder(const MalleableJob &job, int gpus) {
    return records::on_ladder({job.intent.gpus_min, job.intent.gpus_max}, gpus);
}

// When its last run ended.
double stopped_s(const MalleableJob &job, const JobTracker &tracker, double otherwise_s) {
    if (job.record->end_s > 0 && has_run(job)) return job.record->end_s;
    return tracker.fence.waits_since_s().value_or(otherwise_s);
}

// If no node satisfies the job, a lent list may be the cause.
void keep_off(const JobRecord &record, const Target &target, PendingUpdate &update,
              Intent &intent) {
    const bool lends = update.first_in_queue && !target.excluded_nodes.empty() &&
                       !names_nodes(record) && record.slurm_hold != SlurmHold::bad_constraints;
    if (lends)
        update.excluded_nodes = target.excluded_nodes;
    else if (!record.lent_exclusions.empty())
        update.excluded_nodes.emplace();
    intent.exclusions_checksum = lends ? target.excluded_checksum : 0;
}

Action release(const MalleableJob &job, const Target &target, const JobTracker &tracker,
               const PassContext &pass, int gpus, EventKind kind) {
    const JobRecord &record = *job.record;
    Action action{.kind = Kind::release, .intent = job.intent, .poll_fast = true};
    Intent &intent = action.intent;
    PendingUpdate &update = action.update;
    update.time_limit_s = carry_time_limit(
        record, job.is_resizing(), tracker.fence.waits_since_s().value_or(pass.now_s), intent);
    intent.state = IntentState::released;
    intent.target = gpus > 0 ? gpus : record.gpus_requested;
    intent.since_s = pass.now_s;
    intent.run = record.restarts;
    intent.base_step = -1;
    intent.begin_s = 0;
    if (!job.is_resizing()) intent.why = to_string(target.allotment.reason);
    if (gpus > 0) update.size = size_with(intent.layout, gpus, pass, record);
    update.begin_s = pass.now_s;
    update.first_in_queue = job.is_resizing();
    if (update.first_in_queue && !intent.own_nice)
        intent.own_nice = record.nice;
    else if (!update.first_in_queue)
        update.nice = std::exchange(intent.own_nice, std::nullopt);
    keep_off(record, target, update, intent);
    update.undo_slurm_hold = record.slurm_hold != SlurmHold::none;
    update.admin_comment = records::format_into(record.admin_comment, intent);
    action.event = event_of(kind, intent, job.intent.gpus, intent.target,
                            "released with " + gpus_text(intent.target));
    return action;
}

// The size to release a job with now; 0: do not release it yet.
int size_now(const MalleableJob &job, const Target &target, const PassContext &pass,
             double waited_s, const Options &options) {
    const int wanted = std::max(target.allotment.gpus, job.intent.gpus_min);
    if (target.placeable_gpus == wanted) return wanted;
    if (pass.room_is_coming && (target.placeable_gpus == 0 || waited_s < options.fit_wait_s))
        return 0;
    return std::max(target.placeable_gpus, job.intent.gpus_min);
}

// The largest size up to `gpus` that Slurm has not refused; 0: the job keeps its present size.
int size_below_ceiling(const MalleableJob &job, const JobTracker &tracker, int gpus, double now_s) {
    while (gpus >= job.intent.gpus_min && tracker.ceiling.forbids(gpus, now_s)) gpus /= 2;
    return gpus < job.intent.gpus_min ? 0 : gpus;
}

// Slurm holds the job because no node satisfies its request (CPUs, features, a reservation). The
// size of its last run was satisfiable, so a resize falls back to that size. A job that never ran
// gets smaller sizes step by step. The smallest size is retried now and then, because nodes return.
Action downsize_impossible(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                           const PassContext &pass) {
    if (tracker.update_pause.holds(pass.now_s)) return wait_for_more();
    const int size = job.record->gpus_requested, min = job.intent.gpus_min;
    const bool ran_smaller = job.intent.gpus > 0 && job.intent.gpus < size;
    int next = ran_smaller ? job.intent.gpus : size / 2;
    if (next < min || !is_on_ladder(job, next)) next = min;
    if (next == size && age_s(job.intent.since_s, pass.now_s) < kImpossibleAgain_s) return {};
    Action action = release(job, target, tracker, pass, next, EventKind::downsized);
    action.slurm_declined = next < size;
    action.event->text = "Slurm cannot place it with " + gpus_text(size) +
                         " (BadConstraints): released with " + gpus_text(next);
    return action;
}

}  // namespace

bool may_start(const MalleableJob &job, const JobTracker &tracker, double now_s,
               const Options &options) {
    const JobRecord &record = *job.record;
    if (!has_run(job)) return true;
    const bool failed = record.slurm_hold == SlurmHold::launch_failed;
    if (failed && now_s < stopped_s(job, tracker, 0) + kFence_s) return false;
    return now_s >= tracker.fence.clear_s() &&
           tracker.fence.has_new_credential(record, options.release_delay_s, now_s);
}

PendingUpdate::Size size_with(const records::Layout &layout, int gpus, const PassContext &pass,
                              const JobRecord &record) {
    const int nodes = nodes_of(layout, gpus, pass.gpus_per_node);
    const int tasks = tasks_of(layout, gpus, nodes);
    return {.gpus = gpus,
            .nodes = nodes,
            .cpus = tasks * std::max(1, record.cpus_per_task),
            .tasks = tasks};
}

int first_size(const MalleableJob &job) {
    return job.intent.first_gpus > 0 ? job.intent.first_gpus : job.intent.gpus_min;
}

Action size_and_release(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                        const PassContext &pass, const Options &options) {
    if (tracker.update_pause.holds(pass.now_s)) return wait_for_more();
    if (!may_start(job, tracker, pass.now_s, options)) return wait_for_more();
    // If released while GPUs are still to be freed, the job would start at the moment when the lost
    // node returns. Slurm's own start delay prevents that.
    const bool only_lost_node = tracker.fence.has_lost_node() && target.placeable_gpus == 0;
    if (has_run(job) && only_lost_node && job.record->begin_s > pass.now_s) return wait_for_more();
    const double since_s = has_run(job) ? stopped_s(job, tracker, 0) : job.record->submit_s;
    const int gpus = options.mode == Mode::detach
                         ? first_size(job)
                         : size_now(job, target, pass, age_s(since_s, pass.now_s), options);
    if (gpus == 0) return wait_for_more();
    return release(job, target, tracker, pass, size_below_ceiling(job, tracker, gpus, pass.now_s),
                   EventKind::released);
}

Action resume(const MalleableJob &job, const Target &target, const JobTracker &tracker,
              const PassContext &pass, int gpus) {
    Action action = release(job, target, tracker, pass,
                            size_below_ceiling(job, tracker, gpus, pass.now_s), EventKind::resumed);
    action.event->text = "resumed after a pause of " +
                         seconds_text(age_s(job.intent.since_s, pass.now_s)) + ": released with " +
                         gpus_text(action.intent.target);
    return action;
}

Action downsize_if_stuck(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                         const PassContext &pass, const Options &options) {
    if (job.record->slurm_hold == SlurmHold::bad_constraints)
        return downsize_impossible(job, target, tracker, pass);
    const int size = job.record->gpus_requested;
    // The rigid job now has another planned place, or none, so the list is outdated.
    const bool list_is_old = std::ranges::any_of(job.record->lent_exclusions, [&](int node) {
        return std::ranges::find(target.excluded_nodes, node) == target.excluded_nodes.end();
    });
    if (list_is_old && !tracker.update_pause.holds(pass.now_s))
        return release(job, target, tracker, pass, 0, EventKind::released);
    if (job.record->begin_s > pass.now_s || !tracker.eligible_since_s) return wait_for_more();
    const double since_s = std::max(job.intent.since_s, *tracker.eligible_since_s);
    if (age_s(since_s, pass.now_s) < options.fit_wait_s) return wait_for_more();
    const bool changed_by_somebody = size != job.intent.target;
    if (changed_by_somebody || tracker.update_pause.holds(pass.now_s)) return {};
    // GPUs are free there, but perhaps not its memory or CPUs.
    if (!job.record->lent_exclusions.empty()) {
        Target anywhere = target;
        anywhere.excluded_nodes.clear();
        Action action = release(job, anywhere, tracker, pass, 0, EventKind::released);
        action.move_failed = true;
        return action;
    }
    if (size <= job.intent.gpus_min || !is_on_ladder(job, size)) return {};
    const int fits = target.placeable_gpus;
    if (fits == 0 && pass.room_is_coming) return {};
    const int starts = std::min(fits, target.startable_gpus);
    const int smaller = starts < size ? std::max(starts, job.intent.gpus_min) : size / 2;
    Action action = release(job, target, tracker, pass, smaller, EventKind::downsized);
    action.slurm_declined = starts >= size;
    return action;
}

bool is_resize_over(const MalleableJob &job, const JobTracker &tracker, double now_s) {
    if (job.is_resizing() && (job.stage == Stage::held_back || tracker.is_edited)) return true;
    if (job.stage == Stage::held_back && !job.record->lent_exclusions.empty()) return true;
    if (!job.intent.own_nice) return false;
    const bool ran_since = job.intent.run != job.record->restarts;
    if (job.stage == Stage::held_back || ran_since) return true;
    if (job.stage != Stage::eligible) return false;
    return job.record->gpus_requested != job.intent.target ||
           (tracker.eligible_since_s && age_s(*tracker.eligible_since_s, now_s) > kLentMost_s);
}

Action end_resize(const MalleableJob &job) {
    Action action{.kind = Kind::note, .intent = job.intent, .poll_fast = true};
    action.settings = restore_settings(*job.record, action.intent);
    action.intent.asked_s = 0;
    if (job.intent.state == IntentState::asked) {  // as after a requeue by its user
        action.intent.state = IntentState::running;
        action.intent.target = 0;
    }
    return action;
}

}  // namespace ringrt::controller
