// SPDX-License-Identifier: BSD-3-Clause
// FakeCluster: submission, time, programs, scheduling, and what tests read.
#include "tests/support/fake_cluster.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "slurm_plugin/records/flag.h"
#include "slurm_plugin/records/telemetry.h"

namespace ringrt::test {

using controller::SlurmHold;

namespace {

constexpr double kRequeueHold_s = 121;
constexpr double kSubmitHold_s = 10;
constexpr double kStateSaved_s = 6;  // how far back kill() can go

double step_seconds(const Program &program, int gpus) {
    return program.step_s * (1 - program.scales + program.scales / std::max(1, gpus));
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
    // As if its script requests MAX: so it starts with all that is free and useful to it.
    records::Intent intent{.gpus_min = min,
                           .gpus_max = max,
                           .grace_s = program.grace_s,
                           .first_gpus = gpus > 0 ? gpus : records::most_on_ladder({min, max}, max),
                           .since_s = now_s_};
    JobRecord &r = ctld.record;
    r = {.id = id,
         .pending_reason = PendingReason::begin_time,
         .submit_s = now_s_,
         .begin_s = now_s_ + kSubmitHold_s,
         .priority = 1,
         .run_mails = records::kRunMailsAll,
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
        real.slurmctld_s = 0;
        const double noise = real.program.noise;
        if (noise > 0) real.slowness = 1 + std::uniform_real_distribution<>(-noise, noise)(random_);
        const int gpus = ctld.record.gpus_requested;
        const Program &program = real.program;
        ctld.failed = real.failed =
            program.fails_from > 0 && gpus >= program.fails_from && gpus <= program.fails_to;
        if (ctld.failed) return stop(ctld, real, false);
    }
    report(ctld, real);
    if (real.save_until_s > 0) {
        if (now_s_ < real.save_until_s) return;
        real.saved_step = real.step;
        real.save_until_s = 0;
        return stop(ctld, real, true);  // it asks for its own requeue
    }
    const int gpus = ctld.record.gpus_requested;
    real.step += kTick_s / (ctld.malleable ? real.slowness * step_seconds(real.program, gpus) : 1);
    note_loss(real);
    if (real.step >= real.program.steps) {
        real.completed = true;
        return stop(ctld, real, false);
    }
    if (real.flagged && real.program.heeds_signal) real.save_until_s = now_s_ + real.program.save_s;
    real.flagged = false;
}

// The loss falls from ten times its goal and reaches the goal at the last step.
void FakeCluster::note_loss(Real &real) {
    const double goal = real.program.loss_goal;
    if (goal <= 0) return;
    const double part = real.step / real.program.steps;
    real.losses.add(std::floor(real.step), goal / 2 + goal / (0.1 + 1.9 * part), goal);
}

void FakeCluster::report(Ctld &ctld, Real &real) {
    if (!ctld.malleable || real.program.telemetry_s <= 0) return;
    if (now_s_ - real.slurmctld_s < real.program.telemetry_s) return;
    real.slurmctld_s = now_s_;
    records::Telemetry t{.run = real.run, .gpus = ctld.record.gpus_requested};
    t.step = static_cast<uint64_t>(real.step);
    t.ckpt_step = static_cast<uint64_t>(real.saved_step);
    t.step_ms = 1000 * real.slowness * step_seconds(real.program, t.gpus);
    if (real.program.keeps_speeds) {
        t.batch = 64;
        t.trained = 64 * t.step;
        real.speeds_ms[t.gpus] = t.step_ms;
        for (const auto &[gpus, ms] : real.speeds_ms)
            if (t.samples < records::kSpeedSamplesMax)
                t.speed[static_cast<std::size_t>(t.samples++)] = {gpus, ms};
    }
    if (real.program.says_left)
        t.steps_left = static_cast<int64_t>(std::max(0.0, real.program.steps - real.step));
    else if (const auto left = real.losses.steps_left(std::floor(real.step)))
        t.steps_left = static_cast<int64_t>(*left);
    t.began_s = real.started_s + real.program.start_s;
    t.up = true;
    ctld.record.telemetry = records::parse_telemetry(records::format_into("user text", t));
}

// Begins the job's end or requeue. Its GPUs become free once it has completed.
void FakeCluster::stop(Ctld &ctld, Real &real, bool requeued) {
    real.alive = real.up = real.flagged = false;
    real.save_until_s = 0;
    if (requeued && (ctld.record.run_mails & records::kMailRequeue) != 0) ++ctld.mails;
    if (requeued) real.lost_steps += real.step - real.saved_step;
    sim::stop_run(ctld.record, now_s_);
    ctld.ghost_until_s = 0;
    ctld.requeued = requeued;
    ctld.revoked_s = now_s_;
    ctld.completing_until_s = now_s_ + sim::kCompleting_s;
}

void FakeCluster::finish_completing(Ctld &ctld) {
    using How = controller::End::How;
    JobRecord &r = ctld.record;
    if (!ctld.requeued) {
        sim::end_for_good(r, ctld.cancelled ? How::cancelled
                             : ctld.failed  ? How::failed
                                            : How::completed);
        if (ctld.failed) r.end->exit_code = 1;
        return;
    }
    sim::end_in_requeue(r, kRequeueHold_s);
    if (ctld.limit_wall_s) r.time_limit_s = ctld.limit_most_s;
    ctld.requeued = false;
    ctld.own_begin_s = 0;
}

// ---- slurmctld's scheduler --------------------------------------------------------------------

std::vector<int> FakeCluster::free_gpus() const {
    std::vector<int> free = node_gpus_;
    for (std::size_t i = 0; i < free.size(); ++i)
        if (!is_open(i) || static_cast<int>(i) == completing_node) free[i] = 0;
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
    sim::Queue queue;
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
        else if (now_s_ < r.begin_s + staging_s)
            r.pending_reason = PendingReason::staging;
        else
            queue.waiting.push_back(&r);
    }
    queue.start = [&](const JobRecord &r) { return start(r.id, ctld_[r.id], real_[r.id]); };
    queue.reserve = [&](int gpus) {
        const std::vector<int> free = free_gpus();
        sim::Ends ends(now_s_);
        for (const auto &[id, ctld] : ctld_) ends.add(ctld.record);
        return std::move(ends).reserve(std::accumulate(free.begin(), free.end(), 0), gpus);
    };
    (void)queue.start_all();
}

bool FakeCluster::start(uint32_t id, Ctld &ctld, Real &real) {
    JobRecord &r = ctld.record;
    const std::optional<sim::Place> place = sim::find_place(r, free_gpus());
    if (!place) return false;
    if (std::floor(now_s_) <= std::floor(ctld.revoked_s))
        violation(id, "launched with a credential no younger than the end of its old run");
    if (now_s_ < ctld.own_begin_s) violation(id, "started before the start time its user set");
    sim::start_run(r, *place, now_s_);
    if (ctld.limit_wall_s) r.time_limit_s = ctld.limit_wall_s;
    if ((r.run_mails & records::kMailBegin) != 0) ++ctld.mails;
    real.alive = true;
    real.up = real.flagged = real.completed = real.failed = ctld.failed = false;
    real.run = r.restarts;
    real.started_s = now_s_;
    real.step = real.first_step = real.saved_step;
    return true;
}

// ---- what tests read ---------------------------------------------------------------------------

// A job that has just failed may still be restarted.
bool FakeCluster::is_over() const {
    return std::ranges::all_of(ctld_, [&](const auto &entry) {
        const Ctld &ctld = entry.second;
        return ctld.record.phase == JobPhase::finished &&
               !(ctld.failed && now_s_ - ctld.record.end_s < 5);
    });
}

bool FakeCluster::is_paused(uint32_t id) const {
    return job(id).phase == JobPhase::pending && job(id).begin_s > now_s_ &&
           intent(id).state == records::IntentState::paused;
}

std::vector<uint32_t> FakeCluster::malleable_that_could_start() const {
    const std::vector<int> free = free_gpus();
    const int most = *std::max_element(free.begin(), free.end());
    std::vector<uint32_t> out;
    for (const auto &[id, ctld] : ctld_) {
        if (ctld.record.phase != JobPhase::pending) continue;
        if (!ctld.malleable) return {};
        if (is_paused(id)) continue;  // by its policy
        if (!ctld.held && ctld.own_begin_s <= now_s_ && intent(id).gpus_min <= most)
            out.push_back(id);
    }
    return out;
}

std::vector<uint32_t> FakeCluster::gone() const {
    std::vector<uint32_t> out;
    for (const auto &[id, ctld] : ctld_)
        if (ctld.malleable && ctld.ghost_until_s > 0 && ctld.record.phase == JobPhase::running &&
            !real_.at(id).failed)
            out.push_back(id);
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
    constexpr std::size_t kShown = 3500;  // the most that Check can carry
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
