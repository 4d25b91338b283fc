// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/fake_cluster.h"

#include <algorithm>
#include <cmath>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::test {

using controller::SlurmHold;
using records::IntentState;

namespace {

constexpr double kRequeueHold_s = 121;
constexpr double kSubmitHold_s = 10;
constexpr double kCompleting_s = 0.4;
constexpr double kGhost_s = 300;
constexpr int64_t kLentNice = 1'000'000;
constexpr double kStateSaved_s = 6;  // how far back kill() can go

double step_seconds(const Program &program, int gpus) {
    return program.step_s * (0.1 + 0.9 / std::max(1, gpus));
}

}  // namespace

FakeCluster::FakeCluster(std::vector<int> node_gpus, uint64_t seed)
    : random_(seed),
      node_gpus_(std::move(node_gpus)),
      node_up_(node_gpus_.size(), true),
      node_drained_(node_gpus_.size()) {}

// ---- submission -------------------------------------------------------------------------------

uint32_t FakeCluster::submit_malleable(int min, int max, const Program &program, int gpus,
                                       std::optional<int64_t> time_limit_s, double begin_in_s) {
    const uint32_t id = next_id_++;
    Ctld &ctld = ctld_[id];
    ctld.malleable = true;
    records::Intent intent{
        .gpus_min = min, .gpus_max = max, .grace_s = program.grace_s, .since_s = now_s_};
    JobRecord &r = ctld.record;
    r = {.id = id,
         .pending_reason = PendingReason::begin_time,
         .submit_s = now_s_,
         .begin_s = now_s_ + kSubmitHold_s,
         .priority = 1,
         .gpus_requested = gpus > 0 ? gpus : min,
         .time_limit_s = time_limit_s};
    if (begin_in_s > 0) {
        r.begin_s = ctld.own_begin_s = now_s_ + begin_in_s;
        intent.begin_s = std::llround(r.begin_s);
    }
    r.admin_comment = records::format_into("site=1", intent);
    real_[id].program = program;
    return id;
}

uint32_t FakeCluster::submit_rigid(int gpus, double duration_s, double priority, int nodes) {
    const uint32_t id = next_id_++;
    ctld_[id].record = {.id = id,
                        .pending_reason = PendingReason::none,
                        .submit_s = now_s_,
                        .priority = priority,
                        .gpus_requested = gpus,
                        .nodes_requested = nodes};
    real_[id].program = {.steps = duration_s, .telemetry_s = 0, .heeds_signal = false};
    return id;
}

// ---- time -------------------------------------------------------------------------------------

void FakeCluster::advance(double seconds) {
    for (const double end = now_s_ + seconds; now_s_ < end - 1e-9;) tick();
}

void FakeCluster::tick() {
    now_s_ += kTick_s;
    for (auto &[id, ctld] : ctld_) {
        run_program(id, ctld, real_[id]);
        if (ctld.ghost_until_s > 0 && now_s_ >= ctld.ghost_until_s) (void)requeue_gone(id);
        if (ctld.record.phase == JobPhase::completing && now_s_ >= ctld.completing_until_s)
            finish_completing(ctld);
    }
    schedule();
    saved_.push_back({now_s_, ctld_});
    while (saved_.front().first < now_s_ - kStateSaved_s) saved_.pop_front();
}

void FakeCluster::run_program(uint32_t, Ctld &ctld, Real &real) {
    if (!real.alive || ctld.record.phase != JobPhase::running) return;
    real.run_time_s += kTick_s;
    if (ctld.record.time_limit_s &&
        now_s_ - real.started_s > static_cast<double>(*ctld.record.time_limit_s) + 1)
        return stop(ctld, real, false);
    if (now_s_ - real.started_s < (ctld.malleable ? real.program.start_s : 0)) return;
    if (!real.up) {
        real.up = true;
        real.told_s = 0;
    }
    report(ctld, real);
    if (real.save_until_s > 0) {
        if (now_s_ < real.save_until_s) return;
        real.saved_step = real.step;
        real.save_until_s = 0;
        return stop(ctld, real, true);  // it asks for its own requeue
    }
    real.step +=
        kTick_s / (ctld.malleable ? step_seconds(real.program, ctld.record.gpus_requested) : 1);
    note_loss(real);
    if (real.step >= real.program.steps) {
        real.completed = true;
        return stop(ctld, real, false);
    }
    if (real.flagged && real.program.heeds_signal) real.save_until_s = now_s_ + real.program.save_s;
    real.flagged = false;
}

// Falls from ten times its goal, to which it falls at the last step.
void FakeCluster::note_loss(Real &real) {
    const double goal = real.program.loss_goal;
    if (goal <= 0) return;
    const double part = real.step / real.program.steps;
    real.losses.add(std::floor(real.step), goal / 2 + goal / (0.1 + 1.9 * part), goal);
}

void FakeCluster::report(Ctld &ctld, Real &real) {
    if (!ctld.malleable || real.program.telemetry_s <= 0) return;
    if (now_s_ - real.told_s < real.program.telemetry_s) return;
    real.told_s = now_s_;
    records::Telemetry t{.run = real.run, .gpus = ctld.record.gpus_requested};
    t.step = static_cast<uint64_t>(real.step);
    t.ckpt_step = static_cast<uint64_t>(real.saved_step);
    t.step_ms = 1000 * step_seconds(real.program, t.gpus);
    if (real.program.says_left)
        t.steps_left = static_cast<int64_t>(std::max(0.0, real.program.steps - real.step));
    else if (const auto left = real.losses.steps_left(std::floor(real.step)))
        t.steps_left = static_cast<int64_t>(*left);
    t.up = true;
    ctld.record.telemetry = records::parse_telemetry(records::format_into("user text", t));
}

// The job's end or requeue begins; its GPUs are free once it has completed.
void FakeCluster::stop(Ctld &ctld, Real &real, bool requeued) {
    real.alive = real.up = real.flagged = false;
    real.save_until_s = 0;
    if (requeued) real.lost_steps += real.step - real.saved_step;
    ctld.record.phase = JobPhase::completing;
    ctld.ghost_until_s = 0;
    ctld.record.end_s = std::floor(now_s_);
    ctld.requeued = requeued;
    ctld.revoked_s = now_s_;
    ctld.completing_until_s = now_s_ + kCompleting_s;
}

void FakeCluster::finish_completing(Ctld &ctld) {
    JobRecord &r = ctld.record;
    r.gpus_on_node.clear();
    r.start_s = r.suspended_s = 0;
    if (!ctld.requeued) {
        r.phase = JobPhase::finished;
        r.end = controller::End{.how = ctld.cancelled ? controller::End::How::cancelled
                                                      : controller::End::How::completed};
        return;
    }
    r.phase = JobPhase::pending;
    if (ctld.limit_wall_s) r.time_limit_s = ctld.limit_most_s;
    r.pending_reason = PendingReason::begin_time;
    r.begin_s = std::floor(ctld.revoked_s) + kRequeueHold_s;
    ++r.restarts;
    ctld.requeued = false;
    ctld.own_begin_s = 0;
}

// ---- slurmctld's scheduler --------------------------------------------------------------------

std::vector<int> FakeCluster::free_gpus() const {
    std::vector<int> free = node_gpus_;
    for (std::size_t i = 0; i < free.size(); ++i)
        if (!is_open(i)) free[i] = 0;
    for (const auto &[id, ctld] : ctld_)
        for (const auto &[node, gpus] : ctld.record.gpus_on_node)
            if (is_open(static_cast<std::size_t>(node))) free[node] -= gpus;
    return free;
}

bool FakeCluster::is_placeable(const JobRecord &r) const {
    const int nodes = std::max(1, r.nodes_requested);
    const int cpus_on_one = (r.gpus_requested + nodes - 1) / nodes * r.cpus_per_task;
    return r.gpus_requested <= gpus_placeable && (node_cpus == 0 || cpus_on_one <= node_cpus);
}

void FakeCluster::schedule() {
    std::vector<uint32_t> queue;
    for (auto &[id, ctld] : ctld_) {
        JobRecord &r = ctld.record;
        if (r.phase != JobPhase::pending) continue;
        if (!ctld.held && r.begin_s <= now_s_ && !is_placeable(r)) {
            ctld.held = true;
            r.slurm_hold = SlurmHold::bad_constraints;
        }
        if (ctld.held)
            r.pending_reason = PendingReason::held;
        else if (r.begin_s > now_s_)
            r.pending_reason = PendingReason::begin_time;
        else
            queue.push_back(id);
    }
    std::stable_sort(queue.begin(), queue.end(), [&](uint32_t a, uint32_t b) {
        if (ctld_[a].record.nice != ctld_[b].record.nice)
            return ctld_[a].record.nice < ctld_[b].record.nice;
        return ctld_[a].record.priority > ctld_[b].record.priority;
    });
    bool blocked = false;
    for (const uint32_t id : queue) {
        if (start(id, ctld_[id], real_[id])) continue;
        ctld_[id].record.pending_reason =
            blocked ? PendingReason::priority : PendingReason::resources;
        blocked = true;
    }
}

bool FakeCluster::start(uint32_t id, Ctld &ctld, Real &real) {
    JobRecord &r = ctld.record;
    const std::vector<int> free = free_gpus();
    const int nodes = std::max(1, r.nodes_requested);
    const int share = (r.gpus_requested + nodes - 1) / nodes;
    std::vector<std::pair<int, int>> on_node;
    int left = r.gpus_requested;
    for (std::size_t i = 0; i < free.size() && left > 0; ++i) {
        if (!is_open(i) || free[i] < std::min(share, left)) continue;
        on_node.push_back({static_cast<int>(i), std::min(share, left)});
        left -= on_node.back().second;
    }
    if (left > 0 || static_cast<int>(on_node.size()) > nodes) return false;
    if (std::floor(now_s_) <= std::floor(ctld.revoked_s))
        violation(id, "launched with a credential no younger than the end of its old run");
    if (now_s_ < ctld.own_begin_s) violation(id, "started before the start time its user set");
    r.gpus_on_node = on_node;
    r.phase = JobPhase::running;
    r.pending_reason = PendingReason::none;
    r.start_s = std::floor(now_s_);
    if (ctld.limit_wall_s) r.time_limit_s = ctld.limit_wall_s;
    real.alive = true;
    real.up = real.flagged = real.completed = false;
    real.run = r.restarts;
    real.started_s = now_s_;
    real.step = real.first_step = real.saved_step;
    real.on_node = on_node;
    return true;
}

// ---- users and fate ---------------------------------------------------------------------------

void FakeCluster::cancel_as_user(uint32_t id) {
    Ctld &ctld = ctld_.at(id);
    ctld.cancelled = true;
    ctld.requeued = false;
    ctld.ghost_until_s = 0;
    real_[id].alive = false;
    if (ctld.record.phase == JobPhase::running || ctld.record.phase == JobPhase::suspended)
        return stop(ctld, real_[id], false);
    if (ctld.record.phase != JobPhase::pending) return;
    ctld.record.phase = JobPhase::finished;
    ctld.record.end = controller::End{.how = controller::End::How::cancelled};
}

void FakeCluster::hold(uint32_t id, bool on) {
    Ctld &ctld = ctld_.at(id);
    ctld.held = on;
    if (ctld.record.phase == JobPhase::pending)
        ctld.record.pending_reason = on ? PendingReason::held : PendingReason::none;
}

void FakeCluster::fail_launch(uint32_t id) {
    requeue(id);
    finish_completing(ctld_.at(id));
    hold(id, true);
    ctld_.at(id).record.slurm_hold = SlurmHold::launch_failed;
}

void FakeCluster::suspend(uint32_t id, bool on) {
    Ctld &ctld = ctld_.at(id);
    JobRecord &r = ctld.record;
    if (on && r.phase == JobPhase::running) {
        r.phase = JobPhase::suspended;
        ctld.suspended_at_s = now_s_;
    } else if (!on && r.phase == JobPhase::suspended) {
        r.phase = JobPhase::running;
        r.suspended_s += std::floor(now_s_) - std::floor(ctld.suspended_at_s);
        real_[id].started_s += now_s_ - ctld.suspended_at_s;
    }
}

void FakeCluster::requeue(uint32_t id) {
    Ctld &ctld = ctld_.at(id);
    if (ctld.record.phase != JobPhase::running || !real_[id].alive) return;
    const double lost = real_[id].lost_steps;
    stop(ctld, real_[id], true);
    real_[id].lost_steps = lost;  // a user's own decision: not ours to answer for
}

void FakeCluster::set_begin(uint32_t id, double begin_s) {
    Ctld &ctld = ctld_.at(id);
    if (ctld.record.phase != JobPhase::pending) return;
    ctld.record.begin_s = ctld.own_begin_s = begin_s;
    ctld.record.pending_reason = PendingReason::begin_time;
}

void FakeCluster::set_time_limit(uint32_t id, int64_t limit_s) {
    ctld_.at(id).record.time_limit_s = limit_s;
    ctld_.at(id).limit_wall_s.reset();
}

void FakeCluster::leave_time_limit(uint32_t id, int64_t wall_s, std::optional<int64_t> most_s) {
    Ctld &ctld = ctld_.at(id);
    ctld.limit_wall_s = wall_s;
    ctld.record.time_limit_s = ctld.limit_most_s = most_s;
    records::Intent now = intent(id);
    now.limit_by_slurm = true;
    ctld.record.admin_comment = records::format_into(ctld.record.admin_comment, now);
}

void FakeCluster::set_layout(uint32_t id, const records::Layout &layout) {
    records::Intent now = intent(id);
    now.layout = layout;
    ctld_.at(id).record.admin_comment =
        records::format_into(ctld_.at(id).record.admin_comment, now);
}

void FakeCluster::remove_record(uint32_t id) {
    ctld_.at(id).record.admin_comment = "site=1";
    ctld_.at(id).malleable = false;
}

void FakeCluster::set_gpus(uint32_t id, int gpus) {
    JobRecord &r = ctld_.at(id).record;
    r.gpus_requested = gpus;
    for (auto &[node, share] : r.gpus_on_node) {
        share = std::min(share, gpus);
        gpus -= share;
    }
}

void FakeCluster::lose_node(int node, bool back) {
    node_up_[node] = back;
    if (back) return;
    for (auto &[id, ctld] : ctld_)
        for (const auto &[held, gpus] : ctld.record.gpus_on_node)
            if (held == node && ctld.record.phase != JobPhase::completing) {
                if (ctld.record.phase == JobPhase::suspended) ctld.record.phase = JobPhase::running;
                requeue(id);
                break;
            }
}

void FakeCluster::kill(double lost_s) {
    std::map<uint32_t, Ctld> before = ctld_;
    for (auto it = saved_.rbegin(); it != saved_.rend(); ++it) {
        before = it->second;
        if (it->first <= now_s_ - lost_s) break;
    }
    // A job submitted in the lost seconds is submitted again: not what is tested here.
    for (auto &[id, ctld] : ctld_)
        if (before.contains(id)) {
            // What a user did in the lost seconds is done again.
            const bool cancelled = ctld.cancelled, held = ctld.held;
            const bool suspended = ctld.record.phase == JobPhase::suspended;
            ctld = before.at(id);
            if (suspended != (ctld.record.phase == JobPhase::suspended)) suspend(id, suspended);
            if (cancelled != ctld.cancelled) cancel_as_user(id);
            if (held != ctld.held) hold(id, held);
        }
    while (!saved_.empty() && saved_.back().first > now_s_ - lost_s) saved_.pop_back();
    settle_after_kill();
    saved_.push_back({now_s_, ctld_});
}

// What slurmd's registration brings to light: jobs that run and should not, and the reverse.
void FakeCluster::settle_after_kill() {
    for (auto &[id, ctld] : ctld_) {
        Real &real = real_[id];
        JobRecord &r = ctld.record;
        const bool on_record = r.phase == JobPhase::running || r.phase == JobPhase::suspended;
        if (on_record && real.completed && !ctld.malleable) {
            stop(ctld, real, false);
        } else if (on_record && (!real.alive || real.run != r.restarts)) {
            // Seen on 22.05: slurmctld goes on believing that it runs, until the node's next full
            // report.
            real.alive = real.up = real.flagged = false;
            real.save_until_s = 0;
            ctld.ghost_until_s = now_s_ + kGhost_s;
        } else if (!on_record && real.alive) {
            real.alive = real.up = real.flagged = false;
            real.save_until_s = 0;
        }
        if (r.phase == JobPhase::pending && real.completed) {
            r.phase = JobPhase::finished;
            r.end = controller::End{.how = controller::End::How::completed};
        }
        if (r.phase == JobPhase::finished && !real.completed && !ctld.cancelled)
            violation(id, "vanished");
    }
}

// ---- the controller's window ------------------------------------------------------------------

bool FakeCluster::loses_answer() {
    const bool now = next_lost;
    next_lost = false;
    return now || (faults.lost_answer > 0 &&
                   std::uniform_real_distribution<>(0, 1)(random_) < faults.lost_answer);
}

bool FakeCluster::answers(RpcStatus &answer) {
    ++calls;
    const auto chance = [&](double p) {
        return std::uniform_real_distribution<>(0, 1)(random_) < p;
    };
    answer = next_answer;
    next_answer = RpcStatus::ok;
    if (answer == RpcStatus::ok && chance(faults.busy)) answer = RpcStatus::busy;
    if (answer == RpcStatus::ok && chance(faults.refused)) answer = RpcStatus::refused;
    if (answer == RpcStatus::ok && chance(faults.unreachable)) answer = RpcStatus::unreachable;
    return answer == RpcStatus::ok;
}

RpcStatus FakeCluster::observe(controller::Observation &out) {
    if (std::uniform_real_distribution<>(0, 1)(random_) < faults.unreachable)
        return RpcStatus::unreachable;
    out = {.now_s = now_s_};
    for (const auto &[id, ctld] : ctld_) {
        out.jobs.push_back(frozen_.contains(id) ? frozen_.at(id) : ctld.record);
        if (!frozen_.contains(id)) out.jobs.back().told_s = std::floor(now_s_);
        out.jobs.back().intent = records::parse_intent(out.jobs.back().admin_comment);
    }
    for (std::size_t i = 0; i < node_gpus_.size(); ++i)
        out.nodes.push_back({.name = "n" + std::to_string(i),
                             .gpus = node_gpus_[i],
                             .cpus = node_cpus,
                             .usable = is_open(i)});
    return RpcStatus::ok;
}

records::Intent FakeCluster::intent(uint32_t id) const {
    return records::parse_intent(ctld_.at(id).record.admin_comment).value();
}

// Its place was taken in the gap between stop and restart.
bool FakeCluster::waits_long(const Ctld &ctld) const {
    return ctld.record.phase == JobPhase::pending && now_s_ - ctld.revoked_s > 10;
}

// Asked some time ago, and still there: it holds up nobody else's resize.
bool FakeCluster::is_silent(uint32_t id, const Ctld &ctld) const {
    return ctld.record.phase == JobPhase::running && now_s_ - intent(id).asked_s > 10;
}

void FakeCluster::check_ask(uint32_t id, const Ctld &ctld, const records::Intent &after) {
    const Real &real = real_.at(id);
    if (ctld.record.phase != JobPhase::running) violation(id, "asked although it does not run");
    if (!records::on_ladder({after.gpus_min, after.gpus_max}, after.target))
        violation(id, "asked for a size off its ladder");
    if (real.alive && real.program.telemetry_s > 0 &&
        (!real.up || std::floor(real.step) <= std::floor(real.first_step)))
        violation(id, "asked before it made progress (I12)");
    int in_flight = 1, free = 0;
    for (const auto &[other, c] : ctld_)
        if (c.malleable && other != id && c.record.phase != JobPhase::finished &&
            intent(other).asked_s > 0 && !waits_long(c) && !is_silent(other, c))
            ++in_flight;
    if (in_flight > resizes_in_flight_most) violation(id, "storm limit exceeded");
    for (const int gpus : free_gpus()) free += gpus;
    if (after.target > ctld.record.gpus_requested &&
        after.target > free + ctld.record.gpus_requested)
        violation(id, "asked to grow into GPUs that are not free (I7)");
}

RpcStatus FakeCluster::write_intent(uint32_t id, const std::string &admin_comment,
                                    std::optional<int64_t> nice) {
    RpcStatus answer;
    frozen_.erase(id);
    const bool lost_answer = loses_answer();
    if (!answers(answer)) return answer;
    const auto found = ctld_.find(id);
    if (found == ctld_.end()) return RpcStatus::not_found;
    Ctld &ctld = found->second;
    if (ctld.record.phase == JobPhase::finished) {
        violation(id, "a finished job was touched (I9)");
        return RpcStatus::refused;
    }
    if (ctld.record.phase == JobPhase::completing) return RpcStatus::busy;
    const auto after = records::parse_intent(admin_comment);
    if (admin_comment == "site=1") {  // handed back: a rigid job from now on
        ctld.malleable = false;
        ctld.record.admin_comment = admin_comment;
        if (nice) ctld.record.nice = *nice;
        return lost_answer ? RpcStatus::unreachable : RpcStatus::ok;
    }
    if (!after || !admin_comment.starts_with("site=1 ")) {
        violation(id, "wrote a broken record: " + admin_comment);
        return RpcStatus::refused;
    }
    if (after->state == IntentState::asked && intent(id).state != IntentState::asked)
        check_ask(id, ctld, *after);
    ctld.record.admin_comment = admin_comment;
    if (nice) ctld.record.nice = *nice;
    return lost_answer ? RpcStatus::unreachable : RpcStatus::ok;
}

RpcStatus FakeCluster::update_pending(uint32_t id, const controller::PendingUpdate &update) {
    RpcStatus answer;
    frozen_.erase(id);
    const bool lost_answer = loses_answer();
    if (!answers(answer)) return answer;
    const auto found = ctld_.find(id);
    if (found == ctld_.end()) return RpcStatus::not_found;
    Ctld &ctld = found->second;
    JobRecord &r = ctld.record;
    if (r.phase == JobPhase::finished) violation(id, "a finished job was touched (I9)");
    if (r.phase != JobPhase::pending) return RpcStatus::busy;
    if (update.undo_slurm_hold && r.slurm_hold != SlurmHold::none) {
        r.slurm_hold = SlurmHold::none;
        ctld.held = false;
        r.pending_reason = PendingReason::none;
    }
    if (ctld.held) violation(id, "a held job was changed (I8)");
    if (ctld.own_begin_s > now_s_ + 1) violation(id, "its user's start time was changed (I8)");
    const auto after = records::parse_intent(update.admin_comment);
    if (!after) violation(id, "an update without a record");
    if (update.size) {
        const int gpus = update.size->gpus;
        if (gpus > gpus_allowed) return RpcStatus::refused;
        if (after && !records::on_ladder({after->gpus_min, after->gpus_max}, gpus))
            violation(id, "sized off its ladder (I6): " + std::to_string(gpus));
        r.gpus_requested = gpus;
        r.nodes_requested = update.size->nodes;
    }
    if (update.time_limit_s) set_time_limit(id, *update.time_limit_s);
    if (update.begin_s) r.begin_s = *update.begin_s;
    if (update.nice)
        r.nice = *update.nice;
    else if (update.first_in_queue && r.nice == ctld.own_nice)
        r.nice -= kLentNice;
    if (!update.admin_comment.empty()) r.admin_comment = update.admin_comment;
    return lost_answer ? RpcStatus::unreachable : RpcStatus::ok;
}

RpcStatus FakeCluster::signal_steps(uint32_t id, int signal) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    const auto found = ctld_.find(id);
    if (found == ctld_.end()) return RpcStatus::not_found;
    const Ctld &ctld = found->second;
    if (ctld.record.phase == JobPhase::completing) return RpcStatus::busy;
    if (ctld.record.phase != JobPhase::running) {
        violation(id, "signalled although it does not run");
        return RpcStatus::refused;
    }
    const records::Intent now = intent(id);
    if (now.state != IntentState::asked) violation(id, "signalled before the intent was written");
    if (signal != now.signal) violation(id, "the wrong signal was sent");
    Real &real = real_[id];
    if (real.alive && (real.up || !real.program.has_handler_late)) real.flagged = true;
    return RpcStatus::ok;
}

RpcStatus FakeCluster::confirm_run(uint32_t id) {
    const bool as_seen = !frozen_.contains(id) || frozen_.at(id).restarts == job(id).restarts;
    frozen_.erase(id);
    return as_seen && job(id).phase == JobPhase::running ? RpcStatus::ok : RpcStatus::busy;
}

Liveness FakeCluster::probe_run(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return Liveness::unknown;
    if (job(id).phase != JobPhase::running) return Liveness::alive;
    if (now_s_ - job(id).start_s < launch_s) return Liveness::too_early;
    return real_.at(id).alive ? Liveness::alive : Liveness::gone;
}

RpcStatus FakeCluster::requeue_running(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    if (real_.at(id).alive) violation(id, "requeued although it is alive");
    if (was_completed(id)) violation(id, "requeued although it is known to have ended (I9)");
    return requeue_gone(id);
}

// It is known: the controller has told of it since the run began.
bool FakeCluster::was_completed(uint32_t id) const {
    return std::ranges::any_of(events, [&](const controller::Event &event) {
        return event.job_id == id && event.outcome == controller::Outcome::completed &&
               event.time_s >= job(id).start_s;
    });
}

RpcStatus FakeCluster::requeue_ended(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    Ctld &ctld = ctld_.at(id);
    if (ctld.record.phase != JobPhase::finished) return RpcStatus::refused;
    if (real_.at(id).completed || ctld.cancelled) violation(id, "its end was undone (I9)");
    ctld.record.end.reset();
    ctld.requeued = true;
    finish_completing(ctld);
    return RpcStatus::ok;
}

RpcStatus FakeCluster::complete(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    Ctld &ctld = ctld_.at(id);
    if (ctld.record.phase != JobPhase::running) return RpcStatus::refused;
    if (!real_.at(id).completed) violation(id, "completed although it had not ended");
    stop(ctld, real_.at(id), false);
    return RpcStatus::ok;
}

RpcStatus FakeCluster::cancel(uint32_t id) {
    RpcStatus answer;
    if (!answers(answer)) return answer;
    violation(id, "cancelled");  // it leaves no stale nodes
    return RpcStatus::refused;
}

RpcStatus FakeCluster::requeue_gone(uint32_t id) {
    Ctld &ctld = ctld_.at(id);
    Real &real = real_[id];
    const bool on_record =
        ctld.record.phase == JobPhase::running || ctld.record.phase == JobPhase::suspended;
    if (!on_record || real.alive) return RpcStatus::refused;
    const double lost = real.lost_steps;
    stop(ctld, real, true);
    real.lost_steps = lost;
    return RpcStatus::ok;
}

// ---- what tests look at -----------------------------------------------------------------------

bool FakeCluster::is_over() const {
    return std::all_of(ctld_.begin(), ctld_.end(),
                       [](const auto &c) { return c.second.record.phase == JobPhase::finished; });
}

std::vector<uint32_t> FakeCluster::malleable_that_could_start() const {
    const std::vector<int> free = free_gpus();
    const int most = *std::max_element(free.begin(), free.end());
    std::vector<uint32_t> out;
    for (const auto &[id, ctld] : ctld_) {
        if (ctld.record.phase != JobPhase::pending) continue;
        if (!ctld.malleable) return {};
        if (!ctld.held && ctld.own_begin_s <= now_s_ && intent(id).gpus_min <= most)
            out.push_back(id);
    }
    return out;
}

std::vector<uint32_t> FakeCluster::gone() const {
    std::vector<uint32_t> out;
    for (const auto &[id, ctld] : ctld_)
        if (ctld.ghost_until_s > 0 && ctld.record.phase == JobPhase::running) out.push_back(id);
    return out;
}

int FakeCluster::count(controller::EventKind kind) const {
    return static_cast<int>(std::count_if(events.begin(), events.end(),
                                          [kind](const auto &e) { return e.kind == kind; }));
}

void FakeCluster::violation(uint32_t id, const std::string &text) {
    violations.push_back("job " + std::to_string(id) + " at " +
                         std::to_string(now_s_ - 1763721600) + ": " + text);
}

std::string FakeCluster::story(uint32_t id) const {
    constexpr std::size_t kShown = 3500;  // Check can not carry much more
    std::string out;
    for (const std::string &v : violations) out += "VIOLATION " + v + "\n";
    for (const controller::Event &e : events)
        if (id == 0 || e.job_id == id) {
            out += std::to_string(e.time_s - 1763721600) + " job " + std::to_string(e.job_id) + " ";
            out += std::string(to_string(e.kind)) + " " + std::to_string(e.from) + "->" +
                   std::to_string(e.to) + " " + e.reason + ": " + e.text + "\n";
        }
    for (const auto &[job_id, ctld] : ctld_)
        out += "job " + std::to_string(job_id) + " phase " +
               std::to_string(static_cast<int>(ctld.record.phase)) + " gpus " +
               std::to_string(ctld.record.gpus_requested) + " begin +" +
               std::to_string(ctld.record.begin_s - now_s_) + " " + ctld.record.admin_comment +
               "\n";
    if (out.size() > kShown) out.replace(kShown / 2, out.size() - kShown, "\n[...]\n");
    return out;
}

}  // namespace ringrt::test
