// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/job_machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "slurm_plugin/controller/lent_settings.h"
#include "slurm_plugin/controller/live_resize.h"
#include "slurm_plugin/controller/pausing.h"
#include "slurm_plugin/controller/probation.h"
#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/controller/time_limit.h"
#include "slurm_plugin/controller/waiting.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

using records::Intent;
using records::IntentState;

namespace {

using Kind = Action::Kind;

constexpr double kDetachWait_s = 120;  // for a resize under way, in mode detach
constexpr double kSmoothing = 0.3;     // weight of the newest gap
constexpr double kStartUpNews_s = 1;   // as Slurm's start, which is in whole seconds

// ---- running ----------------------------------------------------------------------------------

// Notes the gap of the resize that this start ends.
void note_gap(const MalleableJob &job, double now_s, Intent &intent) {
    const double start_s = job.record->start_s;
    if (!job.is_resizing() || start_s <= 0) return;
    // Slurm notes the start in whole seconds; the poll saw it at most a little later.
    const double started_s = std::clamp(now_s, start_s, start_s + 1);
    intent.gap_s = std::max(0.0, started_s - job.intent.asked_s);
    intent.restart_s = intent.restart_s > 0
                           ? (1 - kSmoothing) * intent.restart_s + kSmoothing * intent.gap_s
                           : intent.gap_s;
}

// Notes how long the run took from its start in Slurm until it trained: prolog, imports,
// communicator, load. True: this is news.
bool note_start_up(const JobRecord &record, const records::Telemetry &heard, double now_s,
                   Intent &intent) {
    if (heard.began_s <= 0 || record.start_s <= 0) return false;
    // A node's clock may be wrong, and a job may forge the time.
    const double start_up_s = std::max(0.0, std::min(heard.began_s, now_s) - record.start_s);
    const bool is_news = std::abs(start_up_s - intent.start_up_s) > kStartUpNews_s;
    if (is_news) intent.start_up_s = start_up_s;
    return is_news;
}

// Notes what a run reports about itself. True: something is new.
bool note_report(const JobRecord &record, const records::Telemetry &heard, double now_s,
                 Intent &intent) {
    const bool is_first = intent.base_step < 0;
    if (is_first) {
        intent.base_step = static_cast<int64_t>(heard.step);
        intent.live |= heard.live;
    }
    const bool is_news = note_start_up(record, heard, now_s, intent);
    return is_first || is_news;
}

// Of a job that was not resumed: its start time came, or its user set it to now.
std::string pause_that_ends(const Intent &before, double now_s) {
    if (before.state != IntentState::paused) return {};
    return " after a pause of " + seconds_text(age_s(before.since_s, now_s));
}

// Notes a start, whether a resize ends with it or not.
Action note_start(const MalleableJob &job, const PassContext &pass) {
    const JobRecord &record = *job.record;
    Action action{.kind = Kind::note, .intent = job.intent};
    Intent &intent = action.intent;
    const bool resized = job.intent.gpus > 0 && record.gpus_requested != job.intent.gpus;
    intent.state = IntentState::running;
    intent.gpus = record.gpus_requested;
    intent.target = 0;
    intent.since_s = pass.now_s;
    intent.asked_s = 0;
    note_times(record, intent);
    intent.run = record.restarts;
    intent.base_step = -1;
    intent.keep = 0;
    action.settings = restore_settings(*job.record, intent);
    if (resized) intent.good = job.intent.gpus;
    if (resized) ++intent.resizes;
    action.has_new_size = resized;
    note_gap(job, pass.now_s, intent);
    const bool by_us = resized && job.is_resizing();
    action.event = event_of(
        by_us ? EventKind::resized : EventKind::started, intent, job.intent.gpus, intent.gpus,
        by_us ? "running again with " + gpus_text(intent.gpus) + ", " + tenths_text(intent.gap_s) +
                    " after the signal"
              : "running with " + gpus_text(intent.gpus) + pause_that_ends(job.intent, pass.now_s));
    if (job.is_resizing()) action.event->gap_s = intent.gap_s;
    return action;
}

Action call_off(const MalleableJob &job, const PassContext &pass, const char *cause,
                const std::string &why) {
    Action action{.kind = Kind::call_off, .intent = job.intent, .cause = cause};
    action.intent.state = IntentState::running;
    action.intent.target = 0;
    action.intent.asked_s = 0;
    action.intent.since_s = pass.now_s;
    action.settings = restore_settings(*job.record, action.intent);
    const int gpus = job.intent.gpus, target = job.intent.target;
    const std::string what = target > 0 ? "resize to " + gpus_text(target) : "pause";
    action.event = event_of(EventKind::called_off, job.intent, gpus, target,
                            what + " called off: " + why + "; the job continues with " +
                                gpus_text(job.record->gpus_requested));
    return action;
}

Action signal_again_or_call_off(const MalleableJob &job, const JobTracker &tracker,
                                const PassContext &pass, const Options &options) {
    const double grace_s = options.grace_of(job.intent.grace_s);
    if (age_s(job.intent.asked_s, pass.now_s) > grace_s)
        return call_off(job, pass, "late",
                        "no checkpoint within its grace time of " + seconds_text(grace_s));
    if (age_s(tracker.signalled_s, pass.now_s) >= options.signal_again_s)
        return {.kind = Kind::signal, .poll_fast = true};
    return wait_for_more();
}

Action ask(const MalleableJob &job, const Target &target, const PassContext &pass) {
    Action action{.kind = Kind::ask, .intent = job.intent, .poll_fast = true};
    Intent &intent = action.intent;
    intent.state = IntentState::asked;
    intent.gpus = job.record->gpus_requested;
    intent.target = target.allotment.gpus;
    intent.since_s = intent.asked_s = pass.now_s;
    intent.why = to_string(target.allotment.reason);
    ++intent.resize_id;
    action.settings = suppress_mails(*job.record, intent);
    const std::string has = gpus_text(intent.gpus), gets = gpus_text(intent.target);
    std::string text = intent.target == 0 ? "signalled to save and pause: it has " + has
                                          : "signalled to save and restart with " + gets;
    if (gets != has && intent.target > 0) text += " instead of " + std::to_string(intent.gpus);
    if (target.moves_for != 0)
        text += " on other nodes: job " + std::to_string(target.moves_for) + " needs its nodes";
    action.event = event_of(EventKind::asked, intent, intent.gpus, intent.target, std::move(text));
    return action;
}

Action ask_if_worth_it(const MalleableJob &job, const Target &target, const PassContext &pass) {
    const JobRecord &record = *job.record;
    Action note{.kind = Kind::note, .intent = job.intent};
    if (record.gpus_requested != job.intent.gpus) {
        note.intent.gpus = record.gpus_requested;
        note.intent.good = 0;
        note.event =
            event_of(EventKind::user_override, job.intent, job.intent.gpus, record.gpus_requested,
                     "its size was changed by hand: the change is kept");
        return note;
    }
    note_times(record, note.intent);
    if (note.intent.limit_s != job.intent.limit_s || note.intent.start_s != job.intent.start_s)
        return note;
    if (const records::Telemetry *heard = job.current_telemetry();
        heard && note_report(record, *heard, pass.now_s, note.intent))
        return note;
    const int wanted = target.allotment.gpus;
    const bool may_get = wanted > 0 || target.job.may_pause;
    const bool is_worth_it = target.job.id != 0 && !target.job.pinned && may_get &&
                             (wanted != record.gpus_requested || target.moves_for != 0);
    if (is_worth_it && pass.may_ask && target.placeable_gpus == wanted && !target.gap_contended)
        return ask(job, target, pass);
    return {};
}

// ---- mode: detach -----------------------------------------------------------------------------

Action make_rigid(const MalleableJob &job) {
    Action action{.kind = Kind::make_rigid, .intent = job.intent};
    action.settings = restore_settings(*job.record, action.intent);
    action.event =
        event_of(EventKind::user_override, job.intent, job.intent.gpus, job.record->gpus_requested,
                 std::string(is_waiting(job.stage) ? "handed back to Slurm: pending with "
                                                   : "handed back to Slurm: continues with ") +
                     gpus_text(job.record->gpus_requested) + " as a rigid job");
    return action;
}

// A resize under way is finished first, if that does not take long. A pending job gets the size
// that it was submitted with, when that is safe after its last run. Its record is removed last.
Action detach(const MalleableJob &job, const Target &target, const JobTracker &tracker,
              const PassContext &pass, const Options &options) {
    const JobRecord &record = *job.record;
    if (job.stage == Stage::completing) return wait_for_more();
    if (!is_waiting(job.stage)) {
        const double limit_s = std::min(options.grace_of(job.intent.grace_s), kDetachWait_s);
        const bool may_leave =
            job.stage == Stage::signalled && age_s(job.intent.asked_s, pass.now_s) <= limit_s;
        return may_leave ? wait_for_more() : make_rigid(job);
    }
    if (job.stage == Stage::held_back || target.pool < 0) return make_rigid(job);
    const int first = first_size(job);
    const bool has_first =
        record.gpus_requested == first || tracker.ceiling.forbids(first, pass.now_s);
    if (job.stage == Stage::eligible && has_first) return make_rigid(job);
    Target nothing_lent = target;
    nothing_lent.excluded_nodes.clear();
    Action action = size_and_release(job, nothing_lent, tracker, pass, options);
    if (action.kind != Kind::release) return action;
    // No place in the queue is lent either: no controller would take it back.
    action.intent.own_nice.reset();
    action.update.first_in_queue = false;
    action.update.nice = job.intent.own_nice;
    action.update.admin_comment = records::format_into(record.admin_comment, action.intent);
    return action;
}

}  // namespace

Action next_action(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                   const PassContext &pass, const Options &options) {
    if (options.mode == Mode::detach && job.stage != Stage::ended)
        return detach(job, target, tracker, pass, options);
    if (tracker.probation && must_narrow(job, *tracker.probation))
        return narrow_range(job, *tracker.probation);
    if (is_waiting(job.stage) && is_resize_over(job, tracker, pass.now_s)) return end_resize(job);
    if (is_waiting(job.stage) && target.pool < 0) return {};
    switch (job.stage) {
        case Stage::unsized:
            if (is_to_be_paused(job, target, options)) return pause(job, tracker, pass);
            return size_and_release(job, target, tracker, pass, options);
        case Stage::eligible:
            return downsize_if_stuck(job, target, tracker, pass, options);
        case Stage::paused:
            return resume_or_renew(job, target, tracker, pass, options);
        case Stage::starting:
            return note_start(job, pass);
        case Stage::running:
            if (auto action = next_live_action(job, target, tracker, pass, options)) return *action;
            return ask_if_worth_it(job, target, pass);
        case Stage::signalled:
            return signal_again_or_call_off(job, tracker, pass, options);
        case Stage::suspended:
            if (job.intent.state != IntentState::asked) return {};
            return call_off(job, pass, "suspended", "the job was suspended");
        case Stage::completing:
            return {.poll_fast = job.is_resizing()};
        case Stage::held_back:
        case Stage::ended:
            break;
    }
    return {};
}

}  // namespace ringrt::controller
