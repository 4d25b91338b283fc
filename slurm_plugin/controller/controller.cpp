// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/controller.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <numeric>

namespace ringrt::controller {

using records::IntentState;

namespace {

constexpr double kBackOffMax_s = 86400;
constexpr double kTroubleWaitMax_s = 30;
constexpr int kUpdatesPerPass = 64;  // so that a pass stays short when many jobs come at once
constexpr double kRefusedWait_s = 60;
constexpr double kStartUp_s = 21;  // until a job that Slurm shows as running is there
constexpr double kLookAt_s[] = {3, 9};
constexpr int kAskedPerPass = 8;      // each can take a time-out
constexpr double kTakenDown_s = 120;  // after a restart of slurmctld
constexpr double kBlink_s = 3;        // between two looks a node may be lost and come back
constexpr double kGapMost_s = 10;     // longer than any stop and restart
constexpr int kLaunchFailures = 3;    // then it stays held: somebody should look
constexpr double kCeiling_s = 1800;   // a size that Slurm does not grant is not tried again before

bool is_growth(const Wish &wish) { return wish.allotment.gpus > wish.job.gpus_now; }

// Shrinks first: what they free is what growths need. Then by gain.
std::vector<std::size_t> order_of_work(const Decision &decision) {
    std::vector<std::size_t> order(decision.wishes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const Wish &x = decision.wishes[a], &y = decision.wishes[b];
        if (is_growth(x) != is_growth(y)) return is_growth(y);
        return is_growth(x) && x.allotment.gain_s_per_gpu > y.allotment.gain_s_per_gpu;
    });
    return order;
}

void set_ceiling(JobMemory &memory, int gpus, double now_s) {
    memory.ceiling_gpus = gpus;
    memory.ceiling_until_s = now_s + kCeiling_s;
}

// A record that Slurm refused (say, a site's job_modify) is not offered again in each pass.
bool is_put_off(const Step &step, const JobMemory &memory, double now_s) {
    return now_s < memory.write_until_s &&
           (step.act == Act::note || step.act == Act::call_off || step.act == Act::hand_back);
}

std::string answer_text(RpcStatus answer) {
    switch (answer) {
        case RpcStatus::ok:
            return "done";
        case RpcStatus::busy:
            return "it can not be altered now";
        case RpcStatus::not_found:
            return "no such job";
        case RpcStatus::refused:
            return "Slurm refused it";
        case RpcStatus::unreachable:
            return "slurmctld does not answer";
    }
    return "unknown";
}

}  // namespace

Controller::Controller(Cluster &cluster, EventSink &events, Options options)
    : cluster_(cluster), events_(events), options_(std::move(options)) {}

double Controller::pass(double now_s) noexcept {
    try {
        return round(now_s);
    } catch (const std::exception &error) {
        return pass_threw(now_s, error.what());
    } catch (...) {
        return pass_threw(now_s, "unknown failure");
    }
}

// Slurm goes on by itself meanwhile.
double Controller::pass_threw(double now_s, const char *what) noexcept {
    ++statistics_.exceptions;
    try {
        statistics_.last_exception = what;
        say(0, now_s,
            {.kind = EventKind::error,
             .text = std::string("no resizes for 30 s: a pass failed: ") + what});
    } catch (...) {  // no memory left to say so
    }
    return now_s + kTroubleWaitMax_s;
}

double Controller::round(double now_s) {
    if (options_.mode == Mode::off) return now_s + options_.interval_s;
    ++statistics_.passes;
    const bool quiet = is_quiet(now_s);
    if (!quiet) observation_.version = 0;  // all of it, for what a pass has changed in its copy
    const RpcStatus answer = cluster_.observe(observation_);
    if (answer != RpcStatus::ok) return observe_failed(now_s, answer);
    failures_ = 0;
    if (now_s - observed_s_ > std::max(kBlink_s, 2 * options_.idle_poll_s)) unwatched_s_ = now_s;
    observed_s_ = now_s;
    if (quiet && observation_.version == settled_version_) return now_s + options_.idle_poll_s;
    settled_version_ = 0;
    observation_.now_s = now_s;
    if (begun_s_ == 0) begun_s_ = now_s;
    note_failed_launches(now_s);
    const bool acts = options_.mode == Mode::act || options_.mode == Mode::detach;
    bool soon = acts && bring_back(now_s);
    const std::vector<JobView> jobs = look(now_s);
    forget_ended(now_s);
    if (acts) look_for_gone(jobs, now_s);

    const Decision decision = decide(observation_, jobs, memory_, options_);
    const bool time_to_decide = is_time_to_decide(jobs, now_s);
    const std::vector<char> room_is_coming = pools_with_room_coming(decision, jobs);
    bool reachable = true;
    int updates = 0;
    for (const std::size_t i : order_of_work(decision)) {
        JobMemory &memory = memory_[jobs[i].record->id];
        Situation now = situation(decision, i, *jobs[i].record, now_s, time_to_decide);
        const int pool = decision.wishes[i].pool;
        now.room_is_coming = pool >= 0 && room_is_coming[static_cast<std::size_t>(pool)];
        Step step = next_step(jobs[i], decision.wishes[i], memory, now, options_);
        soon |= step.soon;
        if (step.act == Act::nothing || is_put_off(step, memory, now_s)) continue;
        if (options_.mode == Mode::observe) {
            only_say(jobs[i], step, memory, now_s);
            continue;
        }
        const RpcStatus said = act(jobs[i], step, memory, now_s);
        reachable = said != RpcStatus::unreachable;
        // Nothing more is to be said of it.
        if (step.act == Act::hand_back && said == RpcStatus::ok) memory_.erase(jobs[i].record->id);
        if (!reachable || ++updates == kUpdatesPerPass) break;
    }
    if (!soon && updates == 0 && reachable) settled_version_ = observation_.version;
    return now_s + (soon || updates > 0 ? options_.busy_poll_s : options_.idle_poll_s);
}

// Nothing was left to do, and the time for the next decision has not come: with thousands of jobs
// in the queue a pass costs tens of milliseconds, so it is not made to find the same again.
bool Controller::is_quiet(double now_s) const {
    return settled_version_ != 0 && maybe_gone_.empty() &&
           age_s(decided_s_, now_s) < options_.interval_s;
}

double Controller::observe_failed(double now_s, RpcStatus answer) {
    ++statistics_.failed_observations;
    if (++failures_ == 3)
        say(0, now_s,
            {.kind = EventKind::error, .text = "no resizes for now: " + answer_text(answer)});
    return now_s + std::min(kTroubleWaitMax_s, options_.idle_poll_s * failures_);
}

// Slurm holds a job whose launch failed, such as one that was started beside what was left of its
// old run. Nobody asked for that hold, so it is undone; not for ever, for a node may be broken.
void Controller::note_failed_launches(double now_s) {
    for (JobRecord &record : observation_.jobs) {
        if (record.phase == JobPhase::finished || !is_malleable(record)) continue;
        JobMemory &memory = memory_[record.id];
        const bool failed = record.slurm_hold == SlurmHold::launch_failed;
        const bool is_new = failed && !memory.launch_failed;
        memory.launch_failed = failed;
        if (!failed) continue;
        if (is_new) ++memory.launch_failures;
        const bool gives_up = memory.launch_failures > kLaunchFailures;
        if (gives_up) record.slurm_hold = SlurmHold::none;  // held like any other
        if (is_new)
            say(record.id, now_s,
                {.kind = EventKind::launch_failed,
                 .text = gives_up ? "its launch failed again and Slurm holds it: that stands"
                                  : "its launch failed and Slurm holds it: released again soon"});
    }
}

// slurmctld took it down for its requeue, was killed, and had forgotten the requeue: then the end
// of its script by SIGTERM was told to the new slurmctld, which takes it for the job's own.
bool Controller::was_taken_down(const JobRecord &record, double now_s) const {
    if (record.phase != JobPhase::finished || !record.failed || record.end_signal != SIGTERM)
        return false;
    if (age_s(begun_s_, now_s) > kTakenDown_s || age_s(record.end_s, now_s) > kTakenDown_s)
        return false;
    const std::optional<records::Intent> intent = records::parse_intent(record.admin_comment);
    if (!intent || intent->run != record.restarts) return false;
    const auto before = past_.asked_s.find(record.id);
    return intent->state == IntentState::asked ||
           (before != past_.asked_s.end() && age_s(before->second, record.end_s) < kTakenDown_s);
}

// Is one on its way back?
bool Controller::bring_back(double now_s) {
    bool any = false;
    for (JobRecord &record : observation_.jobs) {
        if (!was_taken_down(record, now_s)) continue;
        const RpcStatus answer = cluster_.requeue_failed(record.id);
        if (answer == RpcStatus::ok)
            say(record.id, now_s,
                {.kind = EventKind::requeued,
                 .text = "was taken down for its resize before slurmctld was killed, which had "
                         "forgotten that: requeued"});
        if (answer != RpcStatus::ok && answer != RpcStatus::busy) continue;
        record.phase = JobPhase::completing;  // as far as this pass goes: it has not ended
        any = true;
    }
    return any;
}

std::vector<JobView> Controller::look(double now_s) {
    std::vector<JobView> jobs = malleable_jobs(observation_);
    statistics_.malleable = static_cast<int>(jobs.size());
    statistics_.in_flight = statistics_.waiting = 0;
    statistics_.gpus_held = statistics_.gpus_borrowed = 0;
    statistics_.breaker_until_s = breaker_.until_s();
    for (JobView &job : jobs) {
        JobMemory &memory = memory_[job.record->id];
        if (options_.mode == Mode::observe && memory.shadow) job.intent = *memory.shadow;
        notice(job, memory, now_s);
        count_gpus(job);
        // One that lost its place in the gap waits like any other job: what others free lets it
        // run.
        const bool lost_place =
            memory.pending_since_s > 0 && now_s - memory.pending_since_s > kGapMost_s;
        statistics_.in_flight += is_resizing(job) && !lost_place;
    }
    return jobs;
}

void Controller::count_gpus(const JobView &job) {
    if (!holds_gpus(*job.record)) {
        ++statistics_.waiting;
        return;
    }
    const int gpus = job.record->gpus_requested;
    statistics_.gpus_held += gpus;
    statistics_.gpus_borrowed += std::max(0, gpus - job.intent.gpus_min);
}

// At the start: slurmctld may have been killed after a job left and before it saved that. Not at
// once, for slurmctld has to find its nodes first, and twice, for such a job takes a while to go.
void Controller::look_for_gone(const std::vector<JobView> &jobs, double now_s) {
    if (!has_looked_) {
        for (const JobView &job : jobs)
            for (const double look_s : kLookAt_s)
                if (job.record->phase == JobPhase::running)
                    maybe_gone_.push_back(
                        {job.record->id,
                         std::max(job.record->start_s + kStartUp_s, now_s + look_s)});
        has_looked_ = true;
    }
    // The earliest stands last.
    std::stable_sort(maybe_gone_.begin(), maybe_gone_.end(),
                     [](const auto &a, const auto &b) { return a.second > b.second; });
    for (int i = 0; i < kAskedPerPass && !maybe_gone_.empty() && maybe_gone_.back().second < now_s;
         ++i) {
        const RpcStatus answer = settle_gone(maybe_gone_.back().first, now_s);
        if (answer == RpcStatus::busy || answer == RpcStatus::unreachable)
            return;  // the same one next time
        maybe_gone_.pop_back();
    }
}

// Where its node knows nothing of it, it has left for its resize, or it has ended, as the event log
// may tell: then it must not run again.
RpcStatus Controller::settle_gone(uint32_t job_id, double now_s) {
    const Past::Ending *ending = ending_of_run(job_id);
    if (ending && !ending->completed) return RpcStatus::refused;  // Slurm's own affair
    const RpcStatus answer =
        ending ? cluster_.complete_if_gone(job_id) : cluster_.requeue_if_gone(job_id);
    if (answer != RpcStatus::ok) return answer;
    // In what is left of this pass: its grace time may be over, and there is nothing to call off.
    for (JobRecord &record : observation_.jobs)
        if (record.id == job_id) record.phase = JobPhase::completing;
    Event event{.kind = EventKind::requeued,
                .text = "had left before slurmctld was killed, which had forgotten that: requeued"};
    if (ending)
        event = {.kind = EventKind::ended,
                 .text =
                     "has ended before slurmctld was killed, which had forgotten that: "
                     "completed anew"};
    say(job_id, now_s, std::move(event));
    return answer;
}

// How the run that Slurm shows has ended, as the event log knows; nullptr: it knows of no end.
const Past::Ending *Controller::ending_of_run(uint32_t job_id) const {
    const auto told = past_.ended.find(job_id);
    if (told == past_.ended.end()) return nullptr;
    const auto record =
        std::ranges::find(observation_.jobs, job_id, [](const JobRecord &job) { return job.id; });
    const bool same_run =
        record != observation_.jobs.end() && record->start_s <= told->second.time_s;
    return same_run ? &told->second : nullptr;
}

// What changed since the last pass, as far as people want to hear of it.
void Controller::notice(const JobView &job, JobMemory &memory, double now_s) {
    const JobRecord &record = *job.record;
    memory.phase = record.phase;
    memory.state = job.intent.state;
    // A whole run began and ended since: where, nobody has seen.
    if (memory.pending_since_s > 0 && record.restarts != memory.restarts) {
        memory.pending_since_s = memory.seen_s = 0;
        memory.nodes.clear();
    }
    memory.restarts = record.restarts;
    if (record.phase != JobPhase::pending) {
        memory.seen_s = now_s;
        memory.pending_since_s = 0;
        memory.why = job.intent.why;
        if (record.phase != JobPhase::completing) {
            memory.nodes.clear();
            for (const auto &[node, gpus] : record.gpus_on_node) memory.nodes.push_back(node);
        }
        memory.startable_since_s = 0;
        memory.wait_until_s = 0;
        memory.said_left = memory.said_let_go = false;
        return;
    }
    const bool usable = are_usable(memory.nodes);
    if (memory.pending_since_s == 0) {
        memory.pending_since_s = now_s;
        memory.pending_told_s = record.told_s;
        const bool asked = job.intent.state == IntentState::asked;
        const bool watched = memory.seen_s > 0 && memory.seen_s >= unwatched_s_;
        const bool as_before = past_.goes_on && begun_s_ == now_s && was_watched(record, now_s);
        memory.doubt_s = asked && ((watched && usable) || as_before) ? 0 : now_s;
    } else if (usable != memory.nodes_usable) {
        memory.doubt_s = now_s;
    }
    memory.nodes_usable = usable;
    if (waits_for_size(job) || is_kept_back(job, now_s, options_))
        memory.startable_since_s = 0;
    else if (memory.startable_since_s == 0)
        memory.startable_since_s = now_s;
    const int from = job.intent.gpus, to = job.intent.target;
    if (job.intent.state == IntentState::asked && !memory.said_left) {
        memory.said_left = true;
        say(record.id, now_s,
            {.kind = EventKind::requeued,
             .from = from,
             .to = to,
             .reason = job.intent.why,
             .text = "has left to come back with " + std::to_string(to) + " GPUs"});
    }
    if (is_resizing(job) && is_kept_back(job, now_s, options_) && !memory.said_let_go) {
        memory.said_let_go = true;
        say(record.id, now_s,
            {.kind = EventKind::user_override,
             .from = from,
             .to = to,
             .reason = job.intent.why,
             .text = "held, or given another start time, by its user or an "
                     "administrator: that stands"});
    }
}

// Of nothing known: no.
bool Controller::are_usable(const std::vector<int> &nodes) const {
    return !nodes.empty() && std::ranges::all_of(nodes, [&](int node) {
        return node >= 0 && static_cast<std::size_t>(node) < observation_.nodes.size() &&
               observation_.nodes[static_cast<std::size_t>(node)].usable;
    });
}

// By the controller before this one, whose slurmctld was not killed. It has not released the job
// since: a slurmctld that is in a hurry may go on without its last seconds.
bool Controller::was_watched(const JobRecord &record, double now_s) const {
    const auto last = past_.under_way_s.find(record.id);
    return last != past_.under_way_s.end() && age_s(last->second, now_s) < kGapMost_s &&
           std::ranges::all_of(observation_.nodes,
                               [](const NodeRecord &node) { return node.usable; });
}

void Controller::forget_ended(double now_s) {
    std::map<uint32_t, const JobRecord *> present;
    for (const JobRecord &record : observation_.jobs)
        if (memory_.contains(record.id)) present[record.id] = &record;
    for (auto it = memory_.begin(); it != memory_.end();) {
        const auto found = present.find(it->first);
        const JobRecord *record = found == present.end() ? nullptr : found->second;
        if (record && record->phase != JobPhase::finished && is_malleable(*record)) {
            ++it;
            continue;
        }
        forget(it->first, it->second, record, now_s);
        it = memory_.erase(it);
    }
}

void Controller::forget(uint32_t job_id, const JobMemory &memory, const JobRecord *record,
                        double now_s) {
    // It goes on, but nothing says any more that it is malleable.
    if (record && record->phase != JobPhase::finished)
        return say(job_id, now_s,
                   {.kind = EventKind::user_override,
                    .text = "its record in the AdminComment was removed: it keeps its size"});
    const bool asked = memory.state == IntentState::asked;
    const bool failed = record && !record->completed && !record->cancelled &&
                        (record->exit_code != 0 || record->end_signal != 0);
    Event event{.kind = asked && failed ? EventKind::lost : EventKind::ended, .reason = memory.why};
    event.text = !record             ? "is gone"
                 : record->completed ? std::string(kCompleted)
                 : record->cancelled ? "was cancelled"
                 : failed ? "has failed with exit code " + std::to_string(record->exit_code) +
                                ", signal " + std::to_string(record->end_signal)
                          : "was ended by Slurm: its time was up, or a node failed";
    if (asked) event.text += " while it was asked to resize";
    if (event.kind == EventKind::lost) {
        count(&ResizeCounts::lost, memory.why);
        went_wrong(job_id, now_s);
    }
    say(job_id, now_s, std::move(event));
}

// A change of who is there, or at which size, is decided on at once; everything else in its
// interval.
bool Controller::is_time_to_decide(const std::vector<JobView> &jobs, double now_s) {
    std::string now_here;
    for (const JobView &job : jobs) {
        now_here +=
            std::to_string(job.record->id) + ":" + std::to_string(job.record->gpus_requested);
        now_here += static_cast<char>('A' + static_cast<int>(job.record->phase));
    }
    for (const JobRecord &record : observation_.jobs)
        if (record.phase == JobPhase::pending && record.gpus_requested > 0)
            now_here += std::to_string(record.id) + "?";
    const bool changed = now_here != decided_for_;
    if (!changed && age_s(decided_s_, now_s) < options_.interval_s) return false;
    decided_for_ = std::move(now_here);
    decided_s_ = now_s;
    return true;
}

std::vector<char> Controller::pools_with_room_coming(const Decision &decision,
                                                     const std::vector<JobView> &jobs) const {
    std::vector<char> coming(decision.pools.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Wish &wish = decision.wishes[i];
        if (wish.pool < 0 || !holds_gpus(*jobs[i].record)) continue;
        const bool leaving = jobs[i].intent.state == IntentState::asked &&
                             jobs[i].intent.target < jobs[i].record->gpus_requested;
        const bool will_be_asked = !wish.job.pinned && wish.allotment.gpus < wish.job.gpus_now;
        if (leaving || will_be_asked) coming[static_cast<std::size_t>(wish.pool)] = 1;
    }
    return coming;
}

Situation Controller::situation(const Decision &decision, std::size_t job, const JobRecord &record,
                                double now_s, bool time_to_decide) const {
    Situation out{.now_s = now_s};
    out.may_ask = time_to_decide && statistics_.in_flight <
                                        breaker_.in_flight_most(now_s, options_.resizes_in_flight);
    if (decision.wishes[job].pool < 0) return out;
    const Pool &pool = decision.pools[static_cast<std::size_t>(decision.wishes[job].pool)];
    out.gpus_per_node = std::max(1, pool.capacity.gpus_per_node);
    if (record.phase == JobPhase::pending && record.cpus_per_task > 1)
        out.gpus_per_node = reach_of(observation_, pool, record.cpus_per_task).gpus_per_node;
    return out;
}

RpcStatus Controller::act(const JobView &job, Step &step, JobMemory &memory, double now_s) {
    const uint32_t id = job.record->id;
    RpcStatus answer = RpcStatus::ok;
    // A request in the record of a job that was requeued meanwhile would tell of a resize.
    if (step.act == Act::ask && (answer = cluster_.still_runs(id)) != RpcStatus::ok) return answer;
    // It has not come back in time. Has it left, and slurmctld has forgotten that?
    if (step.act == Act::call_off && settle_gone(id, now_s) == RpcStatus::ok)
        return RpcStatus::busy;
    if (step.act == Act::release) {
        answer = cluster_.update_pending(id, step.update);
    } else if (step.act == Act::hand_back) {
        answer = cluster_.write_intent(id, records::without_intent(job.record->admin_comment),
                                       step.nice);
    } else if (step.act != Act::signal) {
        answer = cluster_.write_intent(
            id, records::format_into(job.record->admin_comment, step.intent), step.nice);
    }
    if (answer == RpcStatus::refused) refused(job, step, memory, now_s);
    if (answer != RpcStatus::ok) return answer;
    // The intent stands: now the signal, which is repeated until something happens.
    if (step.act == Act::ask || step.act == Act::signal) {
        memory.signalled_s = now_s;
        answer = cluster_.signal_steps(id, job.intent.signal);
        if (answer == RpcStatus::busy) memory.signalled_s = now_s - options_.signal_again_s + 1;
    }
    done(job, step, memory, now_s);
    return answer;
}

void Controller::done(const JobView &job, const Step &step, JobMemory &memory, double now_s) {
    switch (step.act) {
        case Act::ask:
            count(&ResizeCounts::asked, step.intent.why);
            ++statistics_.in_flight;
            break;
        case Act::call_off:
            count(&ResizeCounts::called_off, job.intent.why);
            ++statistics_.called_off_why[step.cause];
            if (job.record->phase == JobPhase::running) went_wrong(job.record->id, now_s);
            memory.quiet_until_s =
                now_s + std::min(kBackOffMax_s, options_.back_off_s * std::exp2(memory.called_off));
            memory.called_off = std::min(memory.called_off + 1, 20);
            break;
        case Act::release:
            if (step.size_refused) set_ceiling(memory, step.update.gpus, now_s);
            break;
        case Act::note:
            if (is_resizing(job)) memory.called_off = 0;
            break;
        default:
            break;
    }
    memory.state = step.act == Act::signal ? job.intent.state : step.intent.state;
    if (!step.event) return;
    if (step.event->gap_s > 0) {
        ++statistics_.restarts;
        statistics_.restart_s += step.event->gap_s;
        statistics_.restart_gpu_s += step.event->gap_s * step.event->from;
    }
    if (step.event->kind == EventKind::resized) {
        count(&ResizeCounts::resized, job.intent.why);
        breaker_.succeeded();
    }
    say(job.record->id, now_s, *step.event);
}

void Controller::count(uint64_t ResizeCounts::*member, const std::string &reason) {
    ++(statistics_.resizes.*member);
    ++(statistics_.by_reason[reason].*member);
}

void Controller::went_wrong(uint32_t job_id, double now_s) {
    if (!breaker_.failed(job_id, now_s, options_.breaker_jobs, options_.breaker_pause_s)) return;
    statistics_.breaker_until_s = breaker_.until_s();
    say(0, now_s,
        {.kind = EventKind::error,
         .text = "no resizes for " + std::to_string(std::lround(options_.breaker_pause_s)) +
                 " s: those of several jobs in a row were called off or failed"});
}

void Controller::refused(const JobView &job, const Step &step, JobMemory &memory, double now_s) {
    count(&ResizeCounts::refused, step.intent.why);
    if (step.act == Act::release) {
        // Next a smaller size, then without one; then the start time that is set comes by itself.
        memory.wait_until_s =
            now_s + (step.update.gpus > 0 ? options_.idle_poll_s : kRefusedWait_s);
        if (step.update.gpus > 0) set_ceiling(memory, step.update.gpus / 2, now_s);
    } else {
        memory.quiet_until_s = now_s + options_.back_off_s;
        memory.write_until_s = now_s + kRefusedWait_s;
    }
    say(job.record->id, now_s,
        {.kind = EventKind::refused,
         .from = job.intent.gpus,
         .to = step.intent.target,
         .reason = job.intent.why,
         .text = "Slurm refused the update to " + std::to_string(step.intent.target) + " GPUs"});
}

void Controller::only_say(const JobView &job, const Step &step, JobMemory &memory, double now_s) {
    if (step.act == Act::note) memory.shadow = step.intent;
    if (step.act != Act::ask || memory.would == step.intent.target) return;
    memory.would = step.intent.target;
    Event event = *step.event;
    event.kind = EventKind::dry_run;
    event.text = "would be " + event.text;
    say(job.record->id, now_s, std::move(event));
}

void Controller::say(uint32_t job_id, double now_s, Event event) {
    event.job_id = job_id;
    event.time_s = now_s;
    const auto record =
        std::ranges::find(observation_.jobs, job_id, [](const JobRecord &job) { return job.id; });
    if (job_id != 0 && record != observation_.jobs.end()) {
        event.name = record->name;
        event.user_id = record->user_id;
    }
    events_.write(event);
}

}  // namespace ringrt::controller
