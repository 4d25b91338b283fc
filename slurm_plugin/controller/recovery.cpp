// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/recovery.h"

#include <algorithm>
#include <csignal>

#include "slurm_plugin/controller/text.h"

namespace ringrt::controller {

using records::IntentState;

namespace {

constexpr double kTakenDown_s = 120;  // after a restart of slurmctld
constexpr double kFirstProbe_s = 3;   // slurmctld must contact its nodes first
constexpr double kNextProbe_s = 6;    // a job takes a while to end
constexpr double kTooEarlyAgain_s = 5;
constexpr double kProbeRetryMost_s = 300;
constexpr int kProbesPerPass = 8;
constexpr double kWatchedMost_s = 10;  // longer than any stop and restart
constexpr double kBeforeStart_s = 5;   // of slurmctld: noted by the previous one as it ended
constexpr double kAfterStart_s = 60;   // srun waits for an answer meanwhile
constexpr double kStarting_s = 120;    // slurmctld may be down as long
constexpr double kFailedJustNow_s = 60;
constexpr double kNodelessRun_s = 10;  // its first srun is refused

bool may_be_orphan(const JobRecord &record) {
    return record.phase == JobPhase::running || record.phase == JobPhase::suspended;
}

}  // namespace

bool Recovery::was_watched(uint32_t job_id, const std::vector<NodeRecord> &nodes,
                           double now_s) const {
    const auto last = journal_.under_way_s.find(job_id);
    return journal_.continues && first_pass_s_ == now_s && last != journal_.under_way_s.end() &&
           age_s(last->second, now_s) < kWatchedMost_s &&
           std::ranges::all_of(nodes, [](const NodeRecord &node) { return node.usable; });
}

// ---- forgotten requeues -------------------------------------------------------------------------

bool Recovery::was_taken_down(const JobRecord &record, double now_s) const {
    if (!record.end || record.end->how != End::How::failed || record.end->signal != SIGTERM)
        return false;
    if (age_s(*begun_s_, now_s) > kTakenDown_s || age_s(record.end_s, now_s) > kTakenDown_s)
        return false;
    if (!record.intent || record.intent->run != record.restarts) return false;
    const auto before = journal_.asked_s.find(record.id);
    return record.intent->state == IntentState::asked ||
           (before != journal_.asked_s.end() && age_s(before->second, record.end_s) < kTakenDown_s);
}

bool Recovery::has_lost_start(const JobRecord &record) const {
    if (!record.end || record.end->how != End::How::failed || record.end->signal != 0) return false;
    if (!record.intent || record.intent->run != record.restarts || record.restarts == 0)
        return false;
    if (record.telemetry && record.telemetry->run == record.restarts) return false;  // srun started
    return record.end_s > *begun_s_ - kBeforeStart_s && record.end_s < *begun_s_ + kAfterStart_s &&
           record.start_s > 0 && age_s(record.start_s, record.end_s) < kStarting_s;
}

std::optional<Probation> Recovery::probation_of(uint32_t job_id) const {
    const auto found = returning_.find(job_id);
    return found == returning_.end() ? std::nullopt : found->second.probation;
}

void Recovery::note_returns(const JobRecord &record, double now_s) {
    if (record.phase != JobPhase::finished || !record.intent) return;
    if (was_taken_down(record, now_s) ||
        (has_lost_start(record) && started_again_.insert(record.id).second)) {
        returning_.try_emplace(record.id);
        return;
    }
    // A job that has shown as FAILED for a while stays so.
    if (record.end_s < *begun_s_ - kBeforeStart_s || age_s(record.end_s, now_s) > kFailedJustNow_s)
        return;
    const auto probation = controller::probation_of(record);
    if (probation && failed_at_.emplace(record.id, probation->bad).second)
        returning_.try_emplace(record.id, Return{.probation = probation});
}

std::vector<Event> Recovery::requeue_lost(const Observation &observation, double now_s) {
    std::vector<Event> events;
    for (const JobRecord &record : observation.jobs) note_returns(record, now_s);
    const auto find = [&](uint32_t job_id) {
        const auto found = std::ranges::find(observation.jobs, job_id, &JobRecord::id);
        return found == observation.jobs.end() ? nullptr : &*found;
    };
    std::erase_if(requeued_, [&](const auto &job) {
        const JobRecord *record = find(job.first);
        return !record || clear_nodeless(*record, job.second);
    });
    for (auto it = returning_.begin(); it != returning_.end();) {
        const JobRecord *record = find(it->first);
        const bool over = !record || requeue_until_done(*record, it->second, events, now_s);
        it = over ? returning_.erase(it) : std::next(it);
    }
    return events;
}

// For a job that was requeued when its nodes were gone or about to be. False: not done yet.
bool Recovery::clear_nodeless(const JobRecord &record, int restarts_before) {
    if (record.restarts <= restarts_before) return record.phase == JobPhase::finished;
    if (record.phase == JobPhase::finished) {
        const bool failed = record.end && record.end->how == End::How::failed;
        if (failed && age_s(record.start_s, record.end_s) < kNodelessRun_s)
            returning_.try_emplace(record.id);
        return true;
    }
    const bool runs_without = record.phase == JobPhase::running && record.gpus_on_node.empty();
    if (!record.has_stale_nodes && !runs_without) return true;
    const RpcStatus cancelled = cancel_to_requeue(record.id);
    return cancelled != RpcStatus::busy && cancelled != RpcStatus::unreachable;
}

// Requeues at once, so that the job hardly ever shows as cancelled.
RpcStatus Recovery::cancel_to_requeue(uint32_t job_id) {
    const RpcStatus cancelled = cluster_.cancel(job_id);
    if (cancelled == RpcStatus::ok)
        returning_[job_id] = {.requeued = cluster_.requeue_ended(job_id) == RpcStatus::ok};
    return cancelled;
}

// Retries until the job is pending again or gone, so that none is lost. False: not done yet.
bool Recovery::requeue_until_done(const JobRecord &record, Return &back, std::vector<Event> &events,
                                  double now_s) {
    if (record.phase != JobPhase::finished) return back.requeued;
    if (back.requeued) return false;  // the record is older than the requeue
    const RpcStatus requeued = cluster_.requeue_ended(record.id);
    back.requeued = requeued == RpcStatus::ok;
    if (back.requeued)
        if (std::optional<Event> event = event_of(record, back, now_s))
            events.push_back(std::move(*event));
    return requeued == RpcStatus::refused || requeued == RpcStatus::not_found;
}

std::optional<Event> Recovery::event_of(const JobRecord &record, const Return &back,
                                        double now_s) const {
    Event event{.job_id = record.id, .kind = EventKind::requeued, .outcome = Outcome::recovered};
    if (back.probation) {
        const auto [good, bad] = *back.probation;
        event.outcome = Outcome::failed;
        event.reason = record.intent->why;
        event.from = bad;
        event.to = good;
        event.text = "failed with exit code " + std::to_string(record.end->exit_code) +
                     " soon after its restart with " + gpus_text(bad) +
                     ": requeued to restart with " + std::to_string(good);
    } else if (was_taken_down(record, now_s)) {
        event.text = "its requeue was lost in a slurmctld crash: requeued again";
    } else if (has_lost_start(record)) {
        event.text = "its script failed at its start while slurmctld was down: requeued again";
    } else {
        return std::nullopt;
    }
    return event;
}

// ---- orphans ------------------------------------------------------------------------------------

// How the run that Slurm shows ended; nullptr: the journal has no end of it.
const Journal::Ending *Recovery::ending_of_run(const JobRecord &record) const {
    const auto told = journal_.ended.find(record.id);
    const bool same_run = told != journal_.ended.end() && record.start_s <= told->second.time_s;
    return same_run ? &told->second : nullptr;
}

RpcStatus Recovery::repair(const JobRecord &record, bool has_ended) {
    if (has_ended) return cluster_.complete(record.id);
    return record.gpus_on_node.empty() ? cancel_to_requeue(record.id)
                                       : cluster_.requeue_running(record.id);
}

Recovery::Found Recovery::recover(const JobRecord &record) {
    const Journal::Ending *ending = ending_of_run(record);
    if (ending && !ending->completed) return {};  // it failed or was cancelled: left to Slurm
    Found found{.liveness = cluster_.probe_run(record.id)};
    if (found.liveness != Liveness::gone) return found;
    found.repaired = repair(record, ending != nullptr);
    if (found.repaired != RpcStatus::ok) return found;
    found.event = Event{.job_id = record.id,
                        .kind = EventKind::requeued,
                        .outcome = Outcome::recovered,
                        .text = "the end of its run was lost in a slurmctld crash: requeued"};
    if (ending)
        found.event =
            Event{.job_id = record.id,
                  .kind = EventKind::ended,
                  .outcome = Outcome::completed,
                  .text = "its completion was lost in a slurmctld crash: completed again"};
    else
        requeued_[record.id] = record.restarts;
    return found;
}

void Recovery::list_running(const std::vector<MalleableJob> &jobs, double now_s) {
    if (has_listed_) return;
    has_listed_ = true;
    for (const MalleableJob &job : jobs)
        if (may_be_orphan(*job.record))
            probes_.push_back({.job_id = job.record->id,
                               .restarts = job.record->restarts,
                               .due_s = now_s + kFirstProbe_s});
}

bool Recovery::is_due(double now_s) const {
    return is_busy() ||
           std::ranges::any_of(probes_, [&](const Probe &probe) { return probe.due_s <= now_s; });
}

void Recovery::retry_later(Probe &probe, double now_s) {
    probe.due_s = now_s + probe.retry_s;
    probe.retry_s = std::min(2 * probe.retry_s, kProbeRetryMost_s);
}

std::vector<Event> Recovery::probe_orphans(std::vector<MalleableJob> &jobs, double now_s) {
    list_running(jobs, now_s);
    std::vector<Event> events;
    int probed = 0;
    for (Probe &probe : probes_) {
        if (probe.due_s > now_s || probed == kProbesPerPass) continue;
        const auto job = std::ranges::find(
            jobs, probe.job_id, [](const MalleableJob &view) { return view.record->id; });
        if (job == jobs.end() || !may_be_orphan(*job->record) ||
            job->record->restarts != probe.restarts) {
            probe.probes_left = 0;
            continue;
        }
        if (job->record->phase == JobPhase::suspended) {  // until it is resumed
            probe.due_s = now_s + kNextProbe_s;
            continue;
        }
        ++probed;
        Found found = recover(*job->record);
        if (found.event) {
            events.push_back(std::move(*found.event));
            job->stage = Stage::completing;
        }
        switch (found.liveness) {
            case Liveness::alive:
                --probe.probes_left;
                probe.due_s = now_s + kNextProbe_s;
                break;
            case Liveness::gone:
                if (found.repaired == RpcStatus::ok || found.repaired == RpcStatus::not_found)
                    probe.probes_left = 0;
                else if (found.repaired == RpcStatus::refused)
                    retry_later(probe, now_s);
                break;
            case Liveness::too_early:
                probe.due_s = now_s + kTooEarlyAgain_s;
                break;
            case Liveness::unknown:  // can take a full timeout: no more probes in this pass
                retry_later(probe, now_s);
                probed = kProbesPerPass;
                break;
        }
    }
    std::erase_if(probes_, [](const Probe &probe) { return probe.probes_left == 0; });
    return events;
}

}  // namespace ringrt::controller
