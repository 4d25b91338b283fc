// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/executor.h"

#include <cmath>
#include <utility>

#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/records/channel.h"

namespace ringrt::controller {

using Kind = Action::Kind;

namespace {

constexpr double kRefusedWait_s = 60;

}  // namespace

RpcStatus Executor::write(const MalleableJob &job, const Action &action) {
    const JobRecord &record = *job.record;
    switch (action.kind) {
        case Kind::release:
        case Kind::pause:
        case Kind::renew:
            return cluster_.update_pending(record.id, action.update);
        case Kind::make_rigid:
            return cluster_.write_intent(record.id, records::without_intent(record.admin_comment),
                                         action.settings);
        case Kind::signal:
        case Kind::signal_extension:
        case Kind::signal_base:
            return RpcStatus::ok;
        case Kind::return_nodes:
            return cluster_.keep_nodes(record.id, action.nodes);
        case Kind::extend:
            return extend(record, action);
        case Kind::dismiss:
            return dismiss(action);
        case Kind::cancel_extension:
            return cluster_.cancel(action.extension);
        default:
            return cluster_.write_intent(record.id,
                                         records::format_into(record.admin_comment, action.intent),
                                         action.settings);
    }
}

// If Slurm refuses a later extension, the training grows by the earlier ones.
RpcStatus Executor::extend(const JobRecord &base, const Action &action) {
    RpcStatus first = RpcStatus::refused;
    for (const Action::Doubling &doubling : action.doublings) {
        const bool is_first = &doubling == &action.doublings.front();
        const RpcStatus status = cluster_.extend(
            base.id, doubling.size,
            {.base = base.id, .run = base.restarts, .level = doubling.level}, action.place);
        if (is_first) first = status;
        if (status != RpcStatus::ok) break;
    }
    return first;
}

RpcStatus Executor::dismiss(const Action &action) {
    for (const Action::Leaving &one : action.leaving) {
        const RpcStatus status =
            cluster_.write_intent(one.extension, records::format_extension(one.record), {});
        if (status != RpcStatus::ok) return status;
    }
    return RpcStatus::ok;
}

RpcStatus Executor::carry_out(const MalleableJob &job, const Action &action, JobTracker &tracker,
                              const Options &options, double now_s) {
    const uint32_t id = job.record->id;
    // The record of a job that was requeued meanwhile must not get a request: it would show a
    // resize that is not under way.
    if (action.kind == Kind::ask)
        if (const RpcStatus runs = cluster_.confirm_run(id); runs != RpcStatus::ok) return runs;
    // It has not left in time. Or it has left, and slurmctld has forgotten that.
    if (action.kind == Kind::call_off)
        if (const Recovery::Found found = recovery_.recover(*job.record); found.event) {
            log(*found.event, now_s, job.record);
            return RpcStatus::busy;
        }
    RpcStatus status = write(job, action);
    if (status == RpcStatus::refused) note_refusal(job, action, tracker, options, now_s);
    if (status == RpcStatus::later) note_later(job, action, tracker, options, now_s);
    if (status != RpcStatus::ok) return status;
    // The intent is written: now the signal, which is repeated until the job reacts.
    if (action.kind == Kind::ask || action.kind == Kind::signal) {
        tracker.signalled_s = now_s;
        status = cluster_.signal_steps(id, job.intent.signal);
        if (status == RpcStatus::busy) tracker.signalled_s = now_s - options.signal_again_s + 1;
    }
    if (action.kind == Kind::shrink_base || action.kind == Kind::signal_base) {
        tracker.signalled_s = now_s;
        status = cluster_.signal_steps(id, records::kKeepSignal);
    }
    if (action.kind == Kind::dismiss || action.kind == Kind::signal_extension) {
        tracker.signalled_s = now_s;
        for (const Action::Leaving &one : action.leaving)
            status = cluster_.signal_steps(one.extension, job.intent.signal);
        if (action.extension != 0)
            status = cluster_.signal_steps(action.extension, job.intent.signal);
    }
    note_success(job, action, tracker, options, now_s);
    if (action.has_new_size) bill_anew(job, now_s);
    return status;
}

void Executor::note_success(const MalleableJob &job, const Action &action, JobTracker &tracker,
                            const Options &options, double now_s) {
    switch (action.kind) {
        case Kind::ask:
            count(&ResizeCounts::asked, action.intent.why);
            break;
        case Kind::call_off:
            count(&ResizeCounts::called_off, job.intent.why);
            ++statistics_.called_off_why[action.cause];
            if (job.record->phase == JobPhase::running)
                note_failure(job.record->user_id, job.record->id, options, now_s);
            tracker.backoff.failed(options.back_off_s, now_s);
            break;
        case Kind::release:
            if (action.slurm_declined && action.update.size)
                tracker.ceiling.set(action.update.size->gpus, now_s);
            if (action.move_failed) tracker.moves.failed(options.back_off_s, now_s);
            break;
        case Kind::cancel_extension:
            tracker.growth.failed(options.back_off_s, now_s);
            break;
        case Kind::end_shrink:
            tracker.shrinks.failed(options.back_off_s, now_s);
            break;
        default:
            break;
    }
    tracker.state = action.kind == Kind::signal ? job.intent.state : action.intent.state;
    if (!action.event) return;
    if (action.event->gap_s > 0) {
        ++statistics_.restarts;
        statistics_.restart_s += action.event->gap_s;
        statistics_.restart_gpu_s += action.event->gap_s * action.event->from;
    }
    if (action.event->kind == EventKind::paused) ++statistics_.pauses;
    if (action.event->kind == EventKind::resized || action.event->kind == EventKind::paused) {
        if (action.event->to > action.event->from) tracker.growth.succeeded();
        count(&ResizeCounts::resized, job.intent.why);
        breaker_.succeeded(job.record->user_id);
        tracker.backoff.succeeded();
    }
    log(*action.event, now_s, job.record);
}

void Executor::note_refusal(const MalleableJob &job, const Action &action, JobTracker &tracker,
                            const Options &options, double now_s) {
    count(&ResizeCounts::refused, action.intent.why);
    if (action.kind == Kind::release || action.kind == Kind::pause || action.kind == Kind::renew) {
        // Next a smaller size, then none; finally the start time that is already set applies.
        const auto &size = action.update.size;
        tracker.update_pause.until(now_s + (size ? options.idle_poll_s : kRefusedWait_s));
        if (size) tracker.ceiling.set(size->gpus / 2, now_s);
    } else if (action.kind == Kind::extend) {
        tracker.growth.failed(options.back_off_s, now_s);
    } else if (action.kind == Kind::return_nodes) {
        tracker.shrinks.failed(options.back_off_s, now_s);
    } else {
        tracker.backoff.paused(options.back_off_s, now_s);
        tracker.write_pause.until(now_s + kRefusedWait_s);
    }
    log({.kind = EventKind::refused,
         .from = job.intent.gpus,
         .to = action.intent.target,
         .reason = job.intent.why,
         .text = action.kind == Kind::extend ? "Slurm refused an extension"
                 : action.kind == Kind::return_nodes
                     ? "Slurm refused to take nodes of a running job"
                     : "Slurm refused the update to " + gpus_text(action.intent.target)},
        now_s, job.record);
}

// As if it had been submitted, and cancelled because it was pending too long.
void Executor::note_later(const MalleableJob &job, const Action &action, JobTracker &tracker,
                          const Options &options, double now_s) {
    tracker.growth.failed(options.back_off_s, now_s);
    const int gpus = action.doublings.front().size.gpus;
    log({.kind = EventKind::extension,
         .from = job.record->gpus_requested,
         .to = job.record->gpus_requested,
         .reason = action.intent.why,
         .text = "grows later: Slurm would not start an extension of " + gpus_text(gpus) + " now"},
        now_s, job.record);
}

void Executor::note_lost(uint32_t user_id, uint32_t job_id, const std::string &reason,
                         const Options &options, double now_s) {
    count(&ResizeCounts::lost, reason);
    note_failure(user_id, job_id, options, now_s);
}

void Executor::note_failure(uint32_t user_id, uint32_t job_id, const Options &options,
                            double now_s) {
    const Breaker::Opened opened =
        breaker_.failed(user_id, job_id, now_s, options.breaker_jobs, options.breaker_pause_s);
    const std::string pause_s = std::to_string(std::lround(options.breaker_pause_s));
    if (opened == Breaker::Opened::all)
        log({.kind = EventKind::error,
             .text = "no resizes for " + pause_s +
                     " s: those of several users' jobs in a row were called off or failed"},
            now_s);
    if (opened == Breaker::Opened::user)
        log({.kind = EventKind::error,
             .text = "no resizes of the jobs of user " + std::to_string(user_id) + " for " +
                     pause_s + " s: those of several in a row were called off or failed"},
            now_s);
}

// If Slurm refuses, only the bill is wrong: the size in the record is right.
void Executor::bill_anew(const MalleableJob &job, double now_s) {
    if (cluster_.bill_anew(job.record->id) != RpcStatus::refused) return;
    log({.kind = EventKind::refused,
         .from = job.intent.gpus,
         .to = job.record->gpus_requested,
         .reason = job.intent.why,
         .text = "Slurm refused to update its billing: it is billed for " +
                 std::to_string(job.intent.gpus) + " GPUs as before its resize"},
        now_s, job.record);
}

void Executor::cancel_strays(const Extensions &extensions, const Observation &observation,
                             double now_s) {
    for (const JobRecord *record : extensions.strays(observation)) {
        if (cluster_.cancel(record->id) != RpcStatus::ok) continue;
        log({.kind = EventKind::extension,
             .text = "extension of job " + std::to_string(record->extension->base) +
                     (record->phase == JobPhase::suspended
                          ? " cancelled: it is suspended, and that job would wait for its ranks"
                          : " cancelled: that job is not running")},
            now_s, record);
    }
}

void Executor::count(uint64_t ResizeCounts::*member, const std::string &reason) {
    ++(statistics_.resizes.*member);
    ++(statistics_.by_reason[reason].*member);
}

void Executor::log_dry_run(const MalleableJob &job, const Action &action, JobTracker &tracker,
                           double now_s) {
    if (action.kind == Kind::note) tracker.dry_run_intent = action.intent;
    if (action.kind != Kind::ask || tracker.last_dry_run_gpus == action.intent.target) return;
    tracker.last_dry_run_gpus = action.intent.target;
    Event event = *action.event;
    event.kind = EventKind::dry_run;
    event.text = "would be " + event.text;
    log(std::move(event), now_s, job.record);
}

void Executor::log(Event event, double now_s, const JobRecord *record) {
    event.time_s = now_s;
    if (record) {
        event.job_id = record->id;
        event.array_task = record->array_task;
        event.name = record->name;
        event.user_id = record->user_id;
    }
    events_.write(event);
}

}  // namespace ringrt::controller
