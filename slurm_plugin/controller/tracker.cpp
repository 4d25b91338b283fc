// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/tracker.h"

#include <algorithm>
#include <string_view>

#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/records/intent.h"

namespace ringrt::controller {

using records::IntentState;

namespace {

// A job that Slurm ended may have an exit code (a time limit) or none (a lost node).
bool has_failed(const End &end) {
    return end.how != End::How::completed && end.how != End::How::cancelled &&
           (end.exit_code != 0 || end.signal != 0);
}

Outcome outcome_of(const End &end) {
    if (end.how == End::How::completed) return Outcome::completed;
    if (end.how == End::How::cancelled) return Outcome::cancelled;
    return has_failed(end) ? Outcome::failed : Outcome::by_slurm;
}

std::string text_of(const JobRecord *record) {
    if (!record || !record->end) return "is gone";
    switch (outcome_of(*record->end)) {
        case Outcome::completed:
            return "has ended";
        case Outcome::cancelled:
            return "was cancelled";
        case Outcome::failed:
            return "has failed with exit code " + std::to_string(record->end->exit_code) +
                   ", signal " + std::to_string(record->end->signal);
        default:
            return "was ended by Slurm: its time limit, or a node failure";
    }
}

// Whether the list "a,b" contains `name`.
bool lists(std::string_view list, std::string_view name) {
    for (;;) {
        const std::size_t end = std::min(list.find(','), list.size());
        if (list.substr(0, end) == name) return true;
        if (end == list.size()) return false;
        list.remove_prefix(end + 1);
    }
}

bool lists_all(std::string_view list, std::string_view names) {
    for (;;) {
        const std::size_t end = std::min(names.find(','), names.size());
        if (!lists(list, names.substr(0, end))) return false;
        if (end == names.size()) return true;
        names.remove_prefix(end + 1);
    }
}

}  // namespace

SlurmHold JobTracker::hold_of(const JobRecord &record, std::vector<Event> &events) {
    const bool failed = record.slurm_hold == SlurmHold::launch_failed;
    const bool is_new = launches.update(failed);
    const bool gives_up = launches.gives_up();
    if (is_new)
        events.push_back(
            {.job_id = record.id,
             .kind = EventKind::launch_failed,
             .text = gives_up ? "its launch failed again and Slurm holds it: use scontrol release"
                              : "its launch failed and Slurm holds it: it will be released"});
    return failed && gives_up ? SlurmHold::none : record.slurm_hold;
}

void JobTracker::update(const MalleableJob &job, const std::vector<NodeRecord> &nodes,
                        double gap_end_s, double now_s, bool was_watched,
                        std::vector<Event> &events) {
    const bool was_waiting = stage && is_waiting(*stage);
    const bool was_held_back = stage == Stage::held_back;
    const bool asked = job.intent.state == IntentState::asked;
    stage = job.stage;
    state = job.intent.state;
    const bool was_edited = is_edited && was_waiting;
    is_edited = notes_edit(job);
    fence.update(*job.record, job.stage, asked, nodes, gap_end_s, now_s, was_watched);
    if (job.stage != Stage::eligible || job.record->pending_reason == PendingReason::staging)
        eligible_since_s.reset();
    else if (!eligible_since_s)
        eligible_since_s = now_s;
    if (holds_gpus(job.stage) && job.stage != Stage::completing) probation.reset();
    if (job.stage == Stage::running) launches.ran(age_s(job.record->start_s, now_s));
    if (!is_waiting(job.stage)) {
        why = job.intent.why;
        update_pause.end();
        return;
    }
    const auto log = [&](EventKind kind, Outcome outcome, std::string text) {
        events.push_back({.job_id = job.record->id,
                          .kind = kind,
                          .from = job.intent.gpus,
                          .to = job.intent.target,
                          .reason = job.intent.why,
                          .outcome = outcome,
                          .text = std::move(text)});
    };
    if (asked && !was_waiting)
        log(EventKind::requeued, Outcome::resize,
            job.intent.target > 0 ? "requeued to restart with " + gpus_text(job.intent.target)
                                  : "requeued to pause");
    if (job.is_resizing() && job.stage == Stage::held_back && !was_held_back)
        log(EventKind::user_override, Outcome::none,
            "held or given another start time by its user or an administrator: the change is kept");
    else if (is_edited && !was_edited)
        log(EventKind::user_override, Outcome::none,
            "changed by its user or an administrator during its resize: the change is kept");
}

// A user may change a job's placement while it is pending for its restart. That begins at the
// requeue, so it includes the time in which the old run completes.
bool JobTracker::notes_edit(const MalleableJob &job) {
    const JobRecord &record = *job.record;
    const bool completes = job.stage == Stage::completing;
    const bool is_away = job.is_resizing() && (is_waiting(job.stage) || completes);
    // For a job with several partitions Slurm shows the one in which it runs, and later that first.
    const bool is_one_of_them = lists(partitions, record.partition);
    if (!is_away || !constraints) {
        if (is_waiting(job.stage) || !is_one_of_them) partitions = record.partition;
        constraints = record.constraints;
        return false;
    }
    const bool same_partitions =
        (lists_all(record.partition, partitions) && lists_all(partitions, record.partition)) ||
        lists(record.partition, partitions) || (completes && is_one_of_them);
    return !same_partitions || record.constraints != *constraints;
}

void JobTracker::note_joining(const std::vector<Extension> &extensions, double now_s) {
    const bool is_joining = std::ranges::find(extensions, ExtensionStage::joining,
                                              &Extension::stage) != extensions.end();
    if (!is_joining)
        joining_since_s.reset();
    else if (!joining_since_s)
        joining_since_s = now_s;
}

Event end_event(const JobTracker &tracker, const JobRecord *record) {
    // It continues, but its record no longer marks it as malleable.
    if (record && record->phase != JobPhase::finished)
        return {.job_id = record->id,
                .kind = EventKind::user_override,
                .text = "its record in the AdminComment was removed: it keeps its size"};
    const bool asked = tracker.state == IntentState::asked;
    const bool failed = record && record->end && has_failed(*record->end);
    Event event{.kind = asked && failed ? EventKind::lost : EventKind::ended,
                .reason = tracker.why,
                .outcome = record && record->end ? outcome_of(*record->end) : Outcome::gone,
                .text = text_of(record)};
    if (asked) event.text += " during its resize";
    return event;
}

}  // namespace ringrt::controller
