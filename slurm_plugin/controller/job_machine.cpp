// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/job_machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "slurm_plugin/policy/policy.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::controller {

using records::Intent;
using records::IntentState;

namespace {

constexpr double kDetachWait_s = 120;          // for a resize under way, in mode detach
constexpr double kStillThere_s = 20;           // more than KillWait's usual ten or so seconds
constexpr double kImpossibleAgain_s = 300;     // until the smallest size is tried again
constexpr double kSmoothing = 0.3;             // weight of the newest gap
constexpr int64_t kLimitUnit_s = 60;           // Slurm's time limits are whole minutes
constexpr int64_t kLimitMost_s = 900'000'000;  // a longer one, of 28 years, is none

std::string gpus_text(int gpus) { return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs"); }

std::string seconds_text(double seconds) {
    const long tenths = std::lround(std::clamp(seconds, 0.0, 1e9) * 10);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

Event event(EventKind kind, const Intent &intent, int from, int to, std::string text) {
    return {.kind = kind, .from = from, .to = to, .reason = intent.why, .text = std::move(text)};
}

bool has_run(const JobView &job) { return job.record->restarts > 0 || job.intent.gpus > 0; }

// ---- the time limit -----------------------------------------------------------------------------

int64_t in_minutes(int64_t seconds) {
    return std::max(kLimitUnit_s, seconds / kLimitUnit_s * kLimitUnit_s);
}

// The limit is noted when the job first comes by; where an administrator has set another since,
// that one counts from then on.
void note_time_limit(const JobRecord &record, Intent &intent) {
    if (record.time_limit_s < 0 || record.time_limit_s > kLimitMost_s) {
        intent.limit_s = -1;
    } else if (intent.limit_s <= 0 ||
               record.time_limit_s != in_minutes(intent.limit_s - intent.used_s)) {
        intent.limit_s = intent.used_s + record.time_limit_s;
    }
}

// Of a running job: its limit, and its start as if it had never been suspended.
void note_times(const JobRecord &record, Intent &intent) {
    note_time_limit(record, intent);
    intent.start_s = std::llround(record.start_s + record.suspended_s);
}

// What remains of the time limit over all runs (faults F29). One that Slurm chose itself counts as
// it was in the last run: a requeue takes it back, and the waiting job shows another.
void carry_time_limit(const JobView &job, const JobMemory &memory, double now_s, Intent &intent,
                      PendingUpdate &update) {
    const JobRecord &record = *job.record;
    if (!intent.limit_by_slurm) note_time_limit(record, intent);
    if (intent.start_s > 0) {
        const double stopped_s = record.end_s >= static_cast<double>(intent.start_s) ? record.end_s
                                 : memory.pending_since_s > 0 ? memory.pending_since_s
                                                              : now_s;
        intent.used_s += std::max<int64_t>(0, std::llround(stopped_s) - intent.start_s);
        intent.start_s = 0;
    }
    if (intent.limit_s <= 0) return;
    const int64_t left_s = in_minutes(intent.limit_s - intent.used_s);
    if (left_s != record.time_limit_s || intent.limit_by_slurm) update.time_limit_s = left_s;
    intent.limit_by_slurm = false;  // it is ours from now on
}

// ---- waiting ----------------------------------------------------------------------------------

Step release(const JobView &job, const Wish &wish, const JobMemory &memory, const Situation &now,
             int gpus, EventKind kind) {
    const JobRecord &record = *job.record;
    Step step{.act = Act::release, .intent = job.intent, .soon = true};
    Intent &intent = step.intent;
    carry_time_limit(job, memory, now.now_s, intent, step.update);
    intent.state = IntentState::released;
    intent.target = gpus > 0 ? gpus : record.gpus_requested;
    intent.since_s = now.now_s;
    intent.run = record.restarts;
    intent.base_step = -1;
    intent.begin_s = 0;
    if (!is_resizing(job)) intent.why = to_string(wish.allotment.reason);
    if (gpus > 0) {
        step.update.gpus = gpus;
        step.update.nodes = (gpus + now.gpus_per_node - 1) / now.gpus_per_node;
        step.update.cpus = gpus * std::max(1, record.cpus_per_task);
    }
    step.update.begin_s = now.now_s;
    step.update.first_in_queue = is_resizing(job);
    if (step.update.first_in_queue && !intent.own_nice) {
        intent.own_nice = record.nice;
    } else if (!step.update.first_in_queue) {
        step.update.nice = std::exchange(intent.own_nice, std::nullopt);
    }
    step.update.undo_slurm_hold = record.slurm_hold != SlurmHold::none;
    step.update.admin_comment = records::format_into(record.admin_comment, intent);
    step.event = event(kind, intent, job.intent.gpus, intent.target,
                       "released with " + gpus_text(intent.target));
    return step;
}

// The size to release a job with now; 0: not yet.
int size_now(const JobView &job, const Wish &wish, const Situation &now, double waited_s,
             const Options &options) {
    const int wanted = std::max(wish.allotment.gpus, job.intent.gpus_min);
    if (wish.fitting == wanted) return wanted;
    if (now.room_is_coming && (wish.fitting == 0 || waited_s < options.fit_wait_s)) return 0;
    return std::max(wish.fitting, job.intent.gpus_min);
}

// The size that it was submitted with: its script's environment is of that size, and stock Slurm
// does not correct it.
int first_size(const JobView &job) {
    return job.intent.first_gpus > 0 ? job.intent.first_gpus : job.intent.gpus_min;
}

// slurmd refuses to launch a job, which then fails, with a credential that is not younger, in whole
// seconds of slurmctld's clock, than the last request to end the job. That request was older than
// the first answer that showed the job pending, so a launch in a later second than that is safe.
// Where slurmctld does not tell the record anew, the same time must have passed on our clock; the
// two are not compared, for ringrtd may run on another host.
bool may_launch(const JobRecord &record, const JobMemory &memory, double now_s,
                const Options &options) {
    return record.told_s >= memory.pending_told_s + options.release_delay_s ||
           now_s >= memory.pending_since_s + options.release_delay_s;
}

Step step_waiting(const JobView &job, const Wish &wish, const JobMemory &memory,
                  const Situation &now, const Options &options) {
    const JobRecord &record = *job.record;
    const double stopped_s =
        record.end_s > 0 && has_run(job) ? record.end_s : memory.pending_since_s;
    const double waited_s = age_s(has_run(job) ? stopped_s : record.submit_s, now.now_s);
    if (now.now_s < memory.wait_until_s) return {.soon = true};
    // A run that was asked, and ended before our eyes on nodes that stayed, has left everywhere. Of
    // another one, whose node may have been DOWN for a moment, something may live on: launched
    // beside itself the job is held and the node drains ("Duplicate jobid"), and where the end of
    // the old run is told after the start of the new one, the new one's srun crashes slurmctld
    // (22.05).
    double earliest_s = 0;
    if (record.slurm_hold == SlurmHold::launch_failed) earliest_s = stopped_s + kStillThere_s;
    if (memory.doubt_s > 0) earliest_s = std::max(earliest_s, memory.doubt_s + kStillThere_s);
    if (has_run(job) && (now.now_s < earliest_s || !may_launch(record, memory, now.now_s, options)))
        return {.soon = true};
    // Released for GPUs that are to come, it starts in the moment in which the lost node is back.
    const bool only_there = memory.doubt_s > 0 && !memory.nodes_usable && wish.fitting == 0;
    if (has_run(job) && only_there && record.begin_s > now.now_s) return {.soon = true};
    int gpus = options.mode == Mode::detach ? first_size(job)
                                            : size_now(job, wish, now, waited_s, options);
    if (gpus == 0) return {.soon = true};
    // What Slurm refused is not tried again: smaller, and in the end the size that it has.
    while (gpus >= job.intent.gpus_min && is_over_ceiling(memory, gpus, now.now_s)) gpus /= 2;
    if (gpus < job.intent.gpus_min) gpus = 0;
    return release(job, wish, memory, now, gpus, EventKind::released);
}

// Slurm holds it, for no node can satisfy what it asks for (CPUs, features, a reservation): at the
// size that it ran with last it could be satisfied, so a resize ends there. A job that never ran
// gets less and less. At the smallest size it is tried again now and then: nodes come back.
Step step_impossible(const JobView &job, const Wish &wish, const JobMemory &memory,
                     const Situation &now) {
    if (now.now_s < memory.wait_until_s) return {.soon = true};
    const int size = job.record->gpus_requested, min = job.intent.gpus_min;
    const bool ran_smaller = job.intent.gpus > 0 && job.intent.gpus < size;
    int next = ran_smaller ? job.intent.gpus : size / 2;
    if (next < min || !records::on_ladder({min, job.intent.gpus_max}, next)) next = min;
    if (next == size && age_s(job.intent.since_s, now.now_s) < kImpossibleAgain_s) return {};
    Step step = release(job, wish, memory, now, next, EventKind::downsized);
    step.size_refused = next < size;
    step.event->text = "Slurm cannot place it with " + gpus_text(size) +
                       " (BadConstraints): released with " + gpus_text(next);
    return step;
}

// Released, and not started by Slurm for a while: its size is not free, or over a limit.
Step step_released(const JobView &job, const Wish &wish, const JobMemory &memory,
                   const Situation &now, const Options &options) {
    if (job.record->slurm_hold == SlurmHold::bad_constraints)
        return step_impossible(job, wish, memory, now);
    const int size = job.record->gpus_requested;
    if (job.record->begin_s > now.now_s || memory.startable_since_s == 0) return {.soon = true};
    const double since_s = std::max(job.intent.since_s, memory.startable_since_s);
    if (age_s(since_s, now.now_s) < options.fit_wait_s) return {.soon = true};
    if (size != job.intent.target || now.now_s < memory.wait_until_s)
        return {};  // somebody's change
    if (size <= job.intent.gpus_min ||
        !records::on_ladder({job.intent.gpus_min, job.intent.gpus_max}, size))
        return {};
    if (wish.fitting == 0 && now.room_is_coming) return {};
    const int smaller =
        wish.fitting < size ? std::max(wish.fitting, job.intent.gpus_min) : size / 2;
    Step step = release(job, wish, memory, now, smaller, EventKind::downsized);
    step.size_refused = wish.fitting >= size;
    return step;
}

// Its place in the queue is lent for the one restart of its resize. A job that has had it and was
// requeued since, or that its user holds, gives it back before anything else.
bool keeps_lent_place(const JobView &job, bool kept_back) {
    return job.intent.own_nice && (kept_back || job.intent.run != job.record->restarts);
}

Step give_place_back(const JobView &job, bool kept_back) {
    Step step{.act = Act::note, .intent = job.intent, .soon = !kept_back};
    step.nice = std::exchange(step.intent.own_nice, std::nullopt);
    if (!kept_back) step.intent.asked_s = 0;  // that resize is over: it ran
    return step;
}

// ---- running ----------------------------------------------------------------------------------

// Its start is seen: a resize is over, or it has started for another reason.
Step arrive(const JobView &job, const Situation &now) {
    const JobRecord &record = *job.record;
    Step step{.act = Act::note, .intent = job.intent};
    Intent &intent = step.intent;
    const bool resized = job.intent.gpus > 0 && record.gpus_requested != job.intent.gpus;
    intent.state = IntentState::running;
    intent.gpus = record.gpus_requested;
    intent.target = 0;
    intent.since_s = now.now_s;
    intent.asked_s = 0;
    note_times(record, intent);
    intent.run = record.restarts;
    intent.base_step = -1;
    step.nice = std::exchange(intent.own_nice, std::nullopt);
    if (resized) ++intent.resizes;
    if (is_resizing(job) && record.start_s > 0) {
        // Slurm notes the start in whole seconds; we have seen it at most a little later.
        const double started_s = std::clamp(now.now_s, record.start_s, record.start_s + 1);
        intent.gap_s = std::max(0.0, started_s - job.intent.asked_s);
        intent.restart_s = intent.restart_s > 0
                               ? (1 - kSmoothing) * intent.restart_s + kSmoothing * intent.gap_s
                               : intent.gap_s;
    }
    const bool by_us = resized && is_resizing(job);
    step.event =
        event(by_us ? EventKind::resized : EventKind::started, intent, job.intent.gpus, intent.gpus,
              by_us ? "runs again with " + gpus_text(intent.gpus) + ", " +
                          seconds_text(intent.gap_s) + " after the signal"
                    : "runs with " + gpus_text(intent.gpus));
    if (is_resizing(job)) step.event->gap_s = intent.gap_s;
    return step;
}

Step call_off(const JobView &job, const Situation &now, const char *cause, const std::string &why) {
    Step step{.act = Act::call_off, .intent = job.intent, .cause = cause};
    step.intent.state = IntentState::running;
    step.intent.target = 0;
    step.intent.asked_s = 0;
    step.intent.since_s = now.now_s;
    step.event = event(EventKind::called_off, job.intent, job.intent.gpus, job.intent.target,
                       "resize to " + gpus_text(job.intent.target) + " called off: " + why +
                           "; it goes on with " + gpus_text(job.record->gpus_requested));
    return step;
}

Step step_asked(const JobView &job, const JobMemory &memory, const Situation &now,
                const Options &options) {
    if (age_s(job.intent.asked_s, now.now_s) > job.intent.grace_s)
        return call_off(
            job, now, "late",
            "no checkpoint within its grace time of " + std::to_string(job.intent.grace_s) + " s");
    if (age_s(memory.signalled_s, now.now_s) >= options.signal_again_s)
        return {.act = Act::signal, .soon = true};
    return {.soon = true};
}

Step ask(const JobView &job, const Wish &wish, const Situation &now) {
    Step step{.act = Act::ask, .intent = job.intent, .soon = true};
    Intent &intent = step.intent;
    intent.state = IntentState::asked;
    intent.gpus = job.record->gpus_requested;
    intent.target = wish.allotment.gpus;
    intent.since_s = intent.asked_s = now.now_s;
    intent.why = to_string(wish.allotment.reason);
    ++intent.resize_id;
    step.event = event(EventKind::asked, intent, intent.gpus, intent.target,
                       "asked to save and come back with " + gpus_text(intent.target) +
                           " instead of " + std::to_string(intent.gpus));
    return step;
}

Step step_running(const JobView &job, const Wish &wish, const Situation &now) {
    const JobRecord &record = *job.record;
    Step note{.act = Act::note, .intent = job.intent};
    if (record.gpus_requested != job.intent.gpus) {
        note.intent.gpus = record.gpus_requested;
        note.event =
            event(EventKind::user_override, job.intent, job.intent.gpus, record.gpus_requested,
                  "its size was changed by somebody else: that stands");
        return note;
    }
    note_times(record, note.intent);
    if (note.intent.limit_s != job.intent.limit_s || note.intent.start_s != job.intent.start_s)
        return note;
    const records::Telemetry *heard = current_telemetry(job);
    if (heard && job.intent.base_step < 0) {
        note.intent.base_step = static_cast<int64_t>(heard->step);
        return note;
    }
    const int wanted = wish.allotment.gpus;
    const bool asks =
        wish.job.id != 0 && !wish.job.pinned && wanted > 0 && wanted != record.gpus_requested;
    if (asks && now.may_ask && wish.fitting == wanted && !wish.may_lose_place)
        return ask(job, wish, now);
    return {};
}

// ---- mode: detach -----------------------------------------------------------------------------

Step hand_back(const JobView &job) {
    const bool runs = job.record->phase != JobPhase::pending;
    Step step{.act = Act::hand_back, .intent = job.intent, .nice = job.intent.own_nice};
    step.event =
        event(EventKind::user_override, job.intent, job.intent.gpus, job.record->gpus_requested,
              std::string(runs ? "handed back to Slurm: runs on with "
                               : "handed back to Slurm: waits for ") +
                  gpus_text(job.record->gpus_requested) + " as a rigid job");
    return step;
}

// A resize under way is finished first, if that does not take long. A waiting job gets the size
// that it was submitted with, at the time that is safe after its last run; only then the record
// goes.
Step step_detached(const JobView &job, const Wish &wish, const JobMemory &memory,
                   const Situation &now, const Options &options) {
    const JobRecord &record = *job.record;
    if (record.phase == JobPhase::completing) return {.soon = true};
    if (record.phase != JobPhase::pending) {
        const double limit_s = std::min<double>(job.intent.grace_s, kDetachWait_s);
        const bool may_leave =
            record.phase == JobPhase::running && job.intent.state == IntentState::asked &&
            job.intent.run == record.restarts && age_s(job.intent.asked_s, now.now_s) <= limit_s;
        return may_leave ? Step{.soon = true} : hand_back(job);
    }
    if (is_kept_back(job, now.now_s, options) || wish.pool < 0) return hand_back(job);
    const int first = first_size(job);
    const bool has_first =
        record.gpus_requested == first || is_over_ceiling(memory, first, now.now_s);
    if (!waits_for_size(job) && has_first) return hand_back(job);
    Step step = step_waiting(job, wish, memory, now, options);
    if (step.act != Act::release) return step;
    // No place is lent to it: nobody would take it back.
    step.intent.own_nice.reset();
    step.update.first_in_queue = false;
    step.update.nice = job.intent.own_nice;
    step.update.admin_comment = records::format_into(record.admin_comment, step.intent);
    return step;
}

}  // namespace

Step next_step(const JobView &job, const Wish &wish, const JobMemory &memory,
               const Situation &situation, const Options &options) {
    const JobRecord &record = *job.record;
    if (options.mode == Mode::detach && record.phase != JobPhase::finished)
        return step_detached(job, wish, memory, situation, options);
    const IntentState state = job.intent.state;
    switch (record.phase) {
        case JobPhase::finished:
            return {};
        case JobPhase::completing:
            return {.soon = is_resizing(job)};
        case JobPhase::suspended:
            if (state == IntentState::asked)
                return call_off(job, situation, "suspended", "the job was suspended");
            return {};
        case JobPhase::pending:
            if (const bool kept_back = is_kept_back(job, situation.now_s, options);
                keeps_lent_place(job, kept_back))
                return give_place_back(job, kept_back);
            else if (kept_back || wish.pool < 0)
                return {};
            if (waits_for_size(job)) return step_waiting(job, wish, memory, situation, options);
            return step_released(job, wish, memory, situation, options);
        case JobPhase::running:
            break;
    }
    const bool known = state == IntentState::running || state == IntentState::asked;
    if (!known || job.intent.run != record.restarts) return arrive(job, situation);
    if (state == IntentState::asked) return step_asked(job, memory, situation, options);
    return step_running(job, wish, situation);
}

}  // namespace ringrt::controller
