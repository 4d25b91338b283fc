// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/pausing.h"

#include <algorithm>
#include <limits>

#include "slurm_plugin/controller/lent_settings.h"
#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/controller/time_limit.h"
#include "slurm_plugin/controller/waiting.h"

namespace ringrt::controller {

using records::Intent;
using records::IntentState;

namespace {

using Kind = Action::Kind;

// It left its GPUs, or leaves them, to pause.
bool leaves_to_pause(const MalleableJob &job) {
    return job.is_resizing() && job.intent.state == IntentState::asked && job.intent.target == 0;
}

// A full minute: the jobs of a minute are renewed together, and the passes until the next one find
// nothing new. With thousands of paused jobs each pass would renew some otherwise.
int64_t lease_end_s(double now_s) {
    return static_cast<int64_t>((now_s + kPauseLease_s) / 60) * 60;
}

double renewal_s(const MalleableJob &job) {
    return static_cast<double>(job.intent.begin_s) - kPauseLease_s / 2;
}

Action renew(const MalleableJob &job, const PassContext &pass) {
    Action action{.kind = Kind::renew, .intent = job.intent};
    action.intent.begin_s = lease_end_s(pass.now_s);
    action.update.begin_s = static_cast<double>(action.intent.begin_s);
    action.update.admin_comment = records::format_into(job.record->admin_comment, action.intent);
    return action;
}

}  // namespace

bool may_pause(const MalleableJob &job, const Options &options) {
    const bool is_allowed =
        options.pause == Pausing::all || (options.pause == Pausing::asked && job.intent.pause);
    return is_allowed && options.pause_longest_s > 0 && !keeps_array_slot(job) &&
           !job.record->has_reservation;
}

bool may_pause_now(const MalleableJob &job, double now_s, const Options &options) {
    const bool has_run =
        is_waiting(job.stage) || age_s(job.intent.since_s, now_s) >= options.min_resize_interval_s;
    return may_pause(job, options) && has_run;
}

int kept_from_rigid(const MalleableJob &job, double now_s, const Options &options) {
    return may_pause_now(job, now_s, options) ? 0 : job.intent.gpus_min;
}

bool gave_up_its_place(const MalleableJob &job, double now_s, const Options &options) {
    if (!may_pause(job, options)) return false;
    if (is_waiting(job.stage) && leaves_to_pause(job)) return true;
    return job.stage == Stage::paused &&
           age_s(job.intent.since_s, now_s) <= options.pause_longest_s;
}

bool is_to_be_paused(const MalleableJob &job, const Target &target, const Options &options) {
    return job.stage == Stage::unsized && leaves_to_pause(job) && may_pause(job, options) &&
           target.allotment.gpus == 0 && job.record->slurm_hold == SlurmHold::none;
}

Action pause(const MalleableJob &job, const JobTracker &tracker, const PassContext &pass) {
    if (tracker.update_pause.holds(pass.now_s)) return wait_for_more();
    const JobRecord &record = *job.record;
    Action action{.kind = Kind::pause, .intent = job.intent, .poll_fast = true};
    Intent &intent = action.intent;
    PendingUpdate &update = action.update;
    update.time_limit_s =
        carry_time_limit(record, true, tracker.fence.waits_since_s().value_or(pass.now_s), intent);
    const Settings own = restore_settings(record, intent);
    update.nice = own.nice;
    update.run_mails = own.run_mails;
    if (own.no_excluded_nodes) update.excluded_nodes.emplace();
    // Slurm starts it with MIN if no controller does.
    intent.target = intent.gpus_min;
    if (tracker.ceiling.forbids(intent.target, pass.now_s))
        intent.target = record.gpus_requested;
    else
        update.size = size_with(intent.layout, intent.target, pass, record);
    intent.state = IntentState::paused;
    intent.since_s = pass.now_s;
    intent.asked_s = 0;
    intent.run = record.restarts;
    intent.base_step = -1;
    intent.begin_s = lease_end_s(pass.now_s);
    update.begin_s = static_cast<double>(intent.begin_s);
    update.admin_comment = records::format_into(record.admin_comment, intent);
    action.event = event_of(EventKind::paused, intent, intent.gpus, 0,
                            "paused: it had " + gpus_text(intent.gpus));
    return action;
}

// A size that the pause did not set is that of a user, or of a release of which Slurm applied only
// a part: the job continues with it.
Action resume_or_renew(const MalleableJob &job, const Target &target, const JobTracker &tracker,
                       const PassContext &pass, const Options &options) {
    if (tracker.update_pause.holds(pass.now_s)) return {};
    const bool has_other_size = job.record->gpus_requested != job.intent.target;
    const int wanted = target.allotment.gpus, fits = target.placeable_gpus;
    const bool has_room = wanted > 0 && fits > 0 && (fits == wanted || !pass.room_is_coming);
    if (has_other_size || has_room || !gave_up_its_place(job, pass.now_s, options)) {
        if (!may_start(job, tracker, pass.now_s, options)) return wait_for_more();
        const int gpus = has_other_size ? 0 : std::max(fits, job.intent.gpus_min);
        return resume(job, target, tracker, pass, gpus);
    }
    return pass.now_s < renewal_s(job) ? Action{} : renew(job, pass);
}

double first_renewal_s(const std::vector<MalleableJob> &jobs) {
    double first_s = std::numeric_limits<double>::infinity();
    for (const MalleableJob &job : jobs)
        if (job.stage == Stage::paused) first_s = std::min(first_s, renewal_s(job));
    return first_s;
}

}  // namespace ringrt::controller
