// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/controller.h"

#include <algorithm>

#include "slurm_plugin/controller/deferral.h"
#include "slurm_plugin/controller/pausing.h"
#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/text.h"
#include "slurm_plugin/controller/work_order.h"

namespace ringrt::controller {

namespace {

using Kind = Action::Kind;

constexpr double kRetryMost_s = 30;
constexpr int kUpdatesPerPass = 64;  // keeps a pass short when many jobs arrive at once
constexpr double kMissedPoll_s = 3;  // a node may be lost and return between two polls
constexpr double kGapMost_s = 10;    // longer than any stop and restart

}  // namespace

Controller::Controller(Cluster &cluster, EventSink &events, Options options)
    : cluster_(cluster),
      options_(std::move(options)),
      recovery_(cluster),
      executor_(cluster, events, recovery_, statistics_) {}

double Controller::pass(double now_s) noexcept {
    try {
        return round(now_s);
    } catch (const std::exception &error) {
        return pass_threw(now_s, error.what());
    } catch (...) {
        return pass_threw(now_s, "unknown failure");
    }
}

// Slurm continues without resizes meanwhile.
double Controller::pass_threw(double now_s, const char *what) noexcept {
    ++statistics_.exceptions;
    try {
        statistics_.last_exception = what;
        executor_.log({.kind = EventKind::error,
                       .text = std::string("no resizes for 30 s: a pass failed: ") + what},
                      now_s);
    } catch (...) {  // no memory left to report it
    }
    return now_s + kRetryMost_s;
}

double Controller::round(double now_s) {
    jobs_.clear();
    plan_ = {};
    if (options_.mode == Mode::off) return now_s + options_.interval_s;
    ++statistics_.passes;
    const bool quiet = is_quiet(now_s);
    if (const RpcStatus status = cluster_.observe(observation_); status != RpcStatus::ok)
        return observe_failed(now_s, status);
    failures_ = 0;
    if (now_s - observed_s_ > std::max(kMissedPoll_s, 2 * options_.idle_poll_s)) gap_end_s_ = now_s;
    observed_s_ = now_s;
    if (quiet && observation_.version == settled_version_) return now_s + options_.idle_poll_s;
    settled_version_ = 0;
    extensions_.extract_from(observation_);
    observation_.now_s = now_s;
    recovery_.begin(now_s);
    if (acts()) log(recovery_.requeue_lost(observation_, now_s), now_s);
    collect_jobs(now_s);
    forget_ended(now_s);
    if (options_.mode == Mode::act) executor_.cancel_strays(extensions_, observation_, now_s);
    if (acts()) log(recovery_.probe_orphans(jobs_, now_s), now_s);
    plan_ = decide(observation_, jobs_, trackers_, options_);
    return carry_out_plan(now_s);
}

// No work was left, and nothing is due. With thousands of pending jobs a pass costs tens of
// milliseconds, so a pass that would find the same again is skipped.
bool Controller::is_quiet(double now_s) const {
    return settled_version_ != 0 && !recovery_.is_due(now_s) && now_s < renewal_s_ &&
           !clock_.is_over(options_.interval_s, now_s);
}

double Controller::observe_failed(double now_s, RpcStatus status) {
    ++statistics_.failed_observations;
    if (++failures_ == 3)
        executor_.log(
            {.kind = EventKind::error,
             .text = "no resizes until the jobs can be listed again: " + status_text(status)},
            now_s);
    return now_s + std::min(kRetryMost_s, options_.idle_poll_s * failures_);
}

void Controller::collect_jobs(double now_s) {
    statistics_.waiting = statistics_.paused = statistics_.gpus_held = statistics_.gpus_borrowed =
        0;
    in_flight_ = {};
    std::vector<Event> events;
    for (const JobRecord &record : observation_.jobs)
        if (record.intent) applications_.learn(record, now_s);
    for (const JobRecord &record : observation_.jobs) {
        const bool returns =
            record.phase == JobPhase::finished && recovery_.is_returning(record.id);
        if (!record.intent || (record.phase == JobPhase::finished && !returns)) continue;
        JobTracker &tracker = trackers_[record.id];
        MalleableJob job{.record = &record, .intent = *record.intent, .stage = Stage::completing};
        if (options_.mode == Mode::observe && tracker.dry_run_intent)
            job.intent = *tracker.dry_run_intent;
        const SlurmHold hold = tracker.hold_of(record, events);
        if (returns) tracker.probation = recovery_.probation_of(record.id);
        if (!returns) job.stage = stage_of(record, job.intent, hold, holds_of(options_), now_s);
        if (job.stage == Stage::running) {
            job.extensions = extensions_.of(record);
            job.is_live = controller::is_live(record, job.intent, options_);
        }
        tracker.note_joining(job.extensions, now_s);
        tracker.update(job, observation_.nodes, gap_end_s_, now_s,
                       recovery_.was_watched(record.id, observation_.nodes, now_s), events);
        const Application *application = applications_.find(record);
        tracker.application = application ? *application : Application{};
        job.may_move = controller::may_move(job, tracker, now_s, options_);
        tracker.user_id = record.user_id;
        tracker.pass = statistics_.passes;
        count(job, tracker, now_s);
        jobs_.push_back(std::move(job));
    }
    statistics_.malleable = static_cast<int>(jobs_.size());
    statistics_.in_flight = in_flight_.count();
    log(std::move(events), now_s);
}

void Controller::count(const MalleableJob &job, const JobTracker &tracker, double now_s) {
    // A job that lost its place in the gap is pending like any other until GPUs become free.
    const std::optional<double> waits_since_s = tracker.fence.waits_since_s();
    const bool lost_place = waits_since_s && now_s - *waits_since_s > kGapMost_s;
    if (job.is_resizing() && !lost_place)
        in_flight_.add(job.record->user_id, is_silent(job, now_s));
    if (!holds_gpus(job.stage)) {
        ++statistics_.waiting;
        statistics_.paused += job.stage == Stage::paused;
        return;
    }
    const int gpus = job.record->gpus_requested;
    statistics_.gpus_held += gpus;
    statistics_.gpus_borrowed += std::max(0, gpus - job.intent.gpus_min);
}

void Controller::forget_ended(double now_s) {
    for (auto it = trackers_.begin(); it != trackers_.end();) {
        const auto &[id, tracker] = *it;
        if (tracker.pass == statistics_.passes) {
            ++it;
            continue;
        }
        Event event = end_event(tracker, find(id));
        event.job_id = id;
        if (event.kind == EventKind::lost)
            executor_.note_lost(tracker.user_id, id, tracker.why, options_, now_s);
        executor_.log(std::move(event), now_s, find(id));
        it = trackers_.erase(it);
    }
}

double Controller::carry_out_plan(double now_s) {
    const bool is_time = clock_.is_time(observation_, jobs_, options_.interval_s, now_s);
    update_wishes(jobs_, plan_, trackers_, now_s);
    bool fast = recovery_.is_busy(), reachable = true;
    int updates = 0;
    for (const std::size_t i : order_of_work(jobs_, plan_)) {
        const MalleableJob &job = jobs_[i];
        JobTracker &tracker = trackers_[job.record->id];
        // While its partition starts no jobs, Slurm declines no size.
        if (plan_.targets[i].pool < 0) tracker.eligible_since_s.reset();
        const Action action =
            next_action(job, plan_.targets[i], tracker, context_of(i, is_time, now_s), options_);
        fast |= action.poll_fast;
        if (action.kind == Kind::nothing || is_put_off(action, tracker, now_s)) continue;
        if (options_.mode == Mode::observe) {
            executor_.log_dry_run(job, action, tracker, now_s);
            continue;
        }
        const RpcStatus status = executor_.carry_out(job, action, tracker, options_, now_s);
        if (action.kind == Kind::ask && tracker.state == records::IntentState::asked)
            in_flight_.add(job.record->user_id, false);
        reachable = status != RpcStatus::unreachable;
        // It is a rigid job from now on: its later events are not logged.
        if (action.kind == Kind::make_rigid && status == RpcStatus::ok)
            trackers_.erase(job.record->id);
        if (!reachable || ++updates == kUpdatesPerPass) break;
    }
    statistics_.in_flight = in_flight_.count();
    statistics_.breaker_until_s = executor_.breaker().all().until_s();
    if (!fast && updates == 0 && reachable) settled_version_ = observation_.version;
    renewal_s_ = first_renewal_s(jobs_);
    return now_s + (fast || updates > 0 ? options_.busy_poll_s : options_.idle_poll_s);
}

PassContext Controller::context_of(std::size_t job, bool is_time, double now_s) const {
    const JobRecord &record = *jobs_[job].record;
    PassContext out{.now_s = now_s, .nodes = observation_.nodes};
    out.can_keep_nodes = jobs_[job].is_live && cluster_.can_keep_nodes();
    out.may_ask = is_time && in_flight_.may_ask(record.user_id, executor_.breaker(),
                                                options_.resizes_in_flight, now_s);
    if (plan_.targets[job].pool < 0) return out;
    const double askable = askable_s(plan_, plan_.targets[job], trackers_.at(record.id).wish,
                                     policy_options(options_));
    out.may_ask = out.may_ask && now_s >= askable;
    const Pool &pool = plan_.pools[static_cast<std::size_t>(plan_.targets[job].pool)];
    out.room_is_coming = pool.room_is_coming;
    out.gpus_per_node = std::max(1, pool.capacity.gpus_per_node);
    if (record.phase != JobPhase::pending || !is_choosy(record, pool)) return out;
    // While all of its nodes are reserved, it may use none now, and later some again.
    const Reach reach = reach_of(observation_, pool, record, jobs_[job].intent.layout);
    if (reach.nodes > 0) out.gpus_per_node = reach.gpus_per_node;
    return out;
}

std::optional<std::vector<Explanation>> Controller::explanations() const {
    if (plan_.pools.empty()) return std::nullopt;  // every pass that decided has some
    const Limits limits = limits_of(jobs_, in_flight_, executor_.breaker(),
                                    options_.resizes_in_flight, observation_.now_s);
    return explain(observation_, jobs_, plan_, trackers_, limits, options_);
}

void Controller::log(std::vector<Event> events, double now_s) {
    for (Event &event : events) {
        const JobRecord *record = find(event.job_id);
        if (record && event.kind == EventKind::requeued && event.outcome == Outcome::failed)
            executor_.note_lost(record->user_id, record->id, event.reason, options_, now_s);
        executor_.log(std::move(event), now_s, record);
    }
}

const JobRecord *Controller::find(uint32_t job_id) const {
    const auto found = std::ranges::find(observation_.jobs, job_id, &JobRecord::id);
    return found == observation_.jobs.end() ? nullptr : &*found;
}

}  // namespace ringrt::controller
