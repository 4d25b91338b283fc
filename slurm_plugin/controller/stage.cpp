// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/stage.h"

#include <array>
#include <cmath>

namespace ringrt::controller {

using records::Intent;
using records::IntentState;

namespace {

constexpr std::array<std::string_view, kStages> kStageNames{
    "held_back", "unsized",   "eligible",  "paused",     "starting",
    "running",   "signalled", "suspended", "completing", "ended",
};

// Slurm rounds times to whole seconds and reads its clock several times.
constexpr double kRequeueSlack_s = 3, kUpdateSlack_s = 2, kStartSlack_s = 1;

// The end of the start delay that Slurm's requeue set.
double requeue_delay_end_s(const JobRecord &record, const Holds &holds) {
    return (record.end_s > 0 ? record.end_s : record.submit_s) + holds.requeue_s;
}

// The size is not decided: it never was, the job has run since, or Slurm applied only a part of the
// update. In the last case the intent is released, but the size differs or, if a hold came while
// Slurm applied the update (22.05), the start time is still that of the requeue.
bool is_unsized(const JobRecord &record, const Intent &intent, SlurmHold hold, const Holds &holds) {
    const bool is_sized =
        intent.state == IntentState::released || intent.state == IntentState::paused;
    if (!is_sized || hold == SlurmHold::launch_failed) return true;
    if (intent.run != record.restarts) return true;
    if (intent.state == IntentState::paused) return false;
    if (record.begin_s <= intent.since_s + kUpdateSlack_s) return false;
    const double delay_end_s = requeue_delay_end_s(record, holds);
    const bool still_delayed =
        record.restarts > 0 && std::abs(record.begin_s - delay_end_s) <= kRequeueSlack_s;
    return still_delayed || record.gpus_requested != intent.target;
}

// Whether the start time was set by Slurm's requeue or by job_submit, or the last run began after
// it (and the clock was set back since). Any other one is a user's.
bool is_own_start_time(const JobRecord &record, const Intent &intent, const Holds &holds) {
    if (record.begin_s <= static_cast<double>(intent.start_s)) return true;
    if (record.restarts == 0 && intent.gpus == 0)
        return record.begin_s <= record.submit_s + holds.submit_s + kRequeueSlack_s;
    return record.begin_s <= requeue_delay_end_s(record, holds) + kRequeueSlack_s;
}

// Its start time is the one that the pause set, and still ahead.
bool is_paused(const JobRecord &record, const Intent &intent, bool unsized, double now_s) {
    return intent.state == IntentState::paused && !unsized && record.begin_s > now_s &&
           std::abs(record.begin_s - static_cast<double>(intent.begin_s)) <= kStartSlack_s;
}

bool is_blocked(const JobRecord &record, SlurmHold hold) {
    return (record.pending_reason == PendingReason::held && hold == SlurmHold::none) ||
           record.pending_reason == PendingReason::dependency;
}

// By its start time.
bool begins_later(const JobRecord &record, const Intent &intent, bool unsized, const Holds &holds,
                  double now_s) {
    if (record.begin_s <= now_s) return false;
    if (!unsized) return record.begin_s > now_s + kStartSlack_s;  // set after the release
    const bool user_begins_later =
        record.restarts == 0 && now_s < static_cast<double>(intent.begin_s);
    return user_begins_later || !is_own_start_time(record, intent, holds);
}

Stage stage_of_running(const JobRecord &record, const Intent &intent) {
    const bool noted = intent.state == IntentState::running || intent.state == IntentState::asked;
    if (!noted || intent.run != record.restarts) return Stage::starting;
    return intent.state == IntentState::asked ? Stage::signalled : Stage::running;
}

}  // namespace

Stage stage_of(const JobRecord &record, const Intent &intent, SlurmHold hold, const Holds &holds,
               double now_s) {
    switch (record.phase) {
        case JobPhase::finished:
            return Stage::ended;
        case JobPhase::completing:
            return Stage::completing;
        case JobPhase::suspended:
            return Stage::suspended;
        case JobPhase::running:
            return stage_of_running(record, intent);
        case JobPhase::pending:
            break;
    }
    const bool unsized = is_unsized(record, intent, hold, holds);
    if (is_blocked(record, hold)) return Stage::held_back;
    if (is_paused(record, intent, unsized, now_s)) return Stage::paused;
    if (begins_later(record, intent, unsized, holds, now_s)) return Stage::held_back;
    return unsized ? Stage::unsized : Stage::eligible;
}

std::string_view to_string(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

}  // namespace ringrt::controller
