// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/probation.h"

#include <algorithm>
#include <csignal>

#include "slurm_plugin/controller/lent_settings.h"
#include "slurm_plugin/records/flag.h"

namespace ringrt::controller {

using records::Intent;
using records::IntentState;

namespace {

constexpr double kSoon_s = 60;

// A job that got one of these signals was ended from outside.
bool failed_by_itself(const JobRecord &record) {
    if (!record.end || record.end->how != End::How::failed) return false;
    const int signal = record.end->signal;
    return signal != SIGTERM && signal != SIGKILL && signal != SIGINT;
}

bool has_made_steps(const JobRecord &record) {
    return record.telemetry && record.telemetry->run == record.restarts &&
           record.intent->base_step >= 0 &&
           static_cast<int64_t>(record.telemetry->step) > record.intent->base_step;
}

// If a job never reports steps, only its run time counts.
bool failed_soon(const JobRecord &record) {
    if (record.start_s <= 0) return false;
    return age_s(record.start_s, record.end_s) < kSoon_s ||
           (record.telemetry && !has_made_steps(record));
}

// The previous size; the present size if it never had another.
int size_before(const JobRecord &record) {
    const Intent &intent = *record.intent;
    const bool is_noted = intent.state == IntentState::running;
    const bool is_new = !is_noted && intent.gpus != record.gpus_requested;
    return is_new ? intent.gpus : intent.good;
}

}  // namespace

std::optional<Probation> probation_of(const JobRecord &record) {
    if (record.phase != JobPhase::finished || !record.intent || !failed_by_itself(record))
        return std::nullopt;
    const Intent &intent = *record.intent;
    const bool is_asked = intent.state == IntentState::asked;  // it ended while it was asked
    if (intent.run != record.restarts || is_asked || !failed_soon(record)) return std::nullopt;
    const Probation out{.good = size_before(record), .bad = record.gpus_requested};
    const records::GpuRange range{intent.gpus_min, intent.gpus_max};
    if (out.good == out.bad || !records::on_ladder(range, out.good) ||
        !records::on_ladder(range, out.bad))
        return std::nullopt;
    return out;
}

bool must_narrow(const MalleableJob &job, const Probation &probation) {
    const Intent &intent = job.intent;
    return is_waiting(job.stage) && intent.gpus_min <= probation.bad &&
           probation.bad <= intent.gpus_max;
}

Action narrow_range(const MalleableJob &job, const Probation &probation) {
    Action action{.kind = Action::Kind::note, .intent = job.intent, .poll_fast = true};
    Intent &intent = action.intent;
    if (probation.bad > probation.good)
        intent.gpus_max = probation.good;
    else
        intent.gpus_min = probation.good;
    intent.bad = probation.bad;
    intent.good = 0;
    intent.gpus = probation.good;  // so that a start there is no resize
    intent.state = IntentState::running;
    intent.target = 0;
    intent.asked_s = 0;
    action.settings = restore_settings(*job.record, intent);
    return action;
}

}  // namespace ringrt::controller
