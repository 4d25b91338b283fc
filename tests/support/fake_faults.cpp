// SPDX-License-Identifier: BSD-3-Clause
// FakeCluster: what users, administrators and failures do.
#include <algorithm>
#include <cmath>

#include "tests/support/fake_cluster.h"

namespace ringrt::test {

using controller::SlurmHold;

namespace {

constexpr double kGhost_s = 300;

}  // namespace

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
    real_[id].lost_steps = lost;  // the user's decision: not counted against the controller
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

void FakeCluster::allow_pause(uint32_t id, bool on) {
    records::Intent now = intent(id);
    now.pause = on;
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
    // A job submitted in the lost seconds is submitted again: its loss is not under test.
    for (auto &[id, ctld] : ctld_)
        if (before.contains(id)) {
            // A user's action in the lost seconds is repeated.
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

// What slurmd's registration reveals: jobs that run and should not, and the reverse.
void FakeCluster::settle_after_kill() {
    for (auto &[id, ctld] : ctld_) {
        Real &real = real_[id];
        JobRecord &r = ctld.record;
        const bool on_record = r.phase == JobPhase::running || r.phase == JobPhase::suspended;
        if (on_record && real.completed && !ctld.malleable) {
            stop(ctld, real, false);
        } else if (on_record && (!real.alive || real.run != r.restarts)) {
            // Seen on 22.05: slurmctld keeps the job as running until the node's next full report.
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
        if (r.phase == JobPhase::finished && !real.completed && !ctld.cancelled && !ctld.failed)
            violation(id, "vanished");
    }
}

}  // namespace ringrt::test
