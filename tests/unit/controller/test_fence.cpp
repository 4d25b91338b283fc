// SPDX-License-Identifier: BSD-3-Clause
// A job does not start while remains of its last run exist (I1).
#include <cmath>

#include "slurm_plugin/controller/fence.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;

// I1: while the old run was still on the node, the new run's srun crashed slurmctld (the soak). A
// job runs on the only node, an event ends its run, and it runs again only after the remains are
// gone.
namespace {

void expect_late_return(const char *what, const std::function<void(World &, uint32_t)> &happens,
                        bool heeds_signal = true) {
    World world({4});
    const uint32_t id =
        world.cluster.submit_malleable(1, 4, {.steps = 300, .heeds_signal = heeds_signal});
    world.run(20);
    happens(world, id);
    const auto runs_again = [&] {
        const auto &job = world.cluster.job(id);
        return job.phase == JobPhase::running && job.restarts > 0;
    };
    const double took = world.run_until(runs_again, 60);
    ck_assert_msg(took >= 19, "%s: %g s", what, took);
    expect_all_finish(world, 1000, what);
}

}  // namespace

// A requeue by its user, or after a node was DOWN for a moment: processes may remain.
TEST(an_unexpected_requeue_waits_for_remains_of_the_run) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run(20);
    world.cluster.requeue(id);
    const auto runs = [&] {
        return world.cluster.job(id).phase == JobPhase::running &&
               world.cluster.job(id).restarts == 1;
    };
    const double took = world.run_until(runs, 60);
    ck_assert_msg(took >= 19 && took < 25, "%g s", took);
    // A node is lost: processes of the job on the other node may live on for a while.
    world.run(20);
    world.cluster.lose_node(0);
    const double after_loss = world.run_until(
        [&] {
            return world.cluster.job(id).phase == JobPhase::running &&
                   world.cluster.job(id).restarts == 2;
        },
        60);
    ck_assert_msg(after_loss >= 20, "%g s", after_loss);
    world.return_node(0);
    expect_all_finish(world, 1000, "requeue");
}

TEST(a_job_whose_node_was_lost_unseen_is_not_started_beside_itself) {
    const auto late_answers = [](World &world, uint32_t) {
        (void)world.cluster.submit_malleable(1, 4, {.steps = 300});
        world.run(2);
        ck_assert_int_eq(world.cluster.count(EventKind::asked), 1);
        world.cluster.advance(2);
        world.cluster.lose_node(0);
        world.cluster.advance(2);
        world.return_node(0);
    };
    expect_late_return("asked, then lost and back while Slurm's answers are late", late_answers,
                       false);
    expect_late_return("a controller that has not seen it leave", [](World &world, uint32_t id) {
        world.cluster.requeue(id);
        world.cluster.advance(1);
        world.restart();
    });
}

// From Slurm 23.11 on `scontrol reconfigure` starts a new slurmctld that keeps its whole state.
TEST(a_reconfigured_slurmctld_makes_no_job_wait) {
    // How long the job takes to run again.
    const auto gap_s = [](bool continues, double silent_s, bool one_is_down) {
        World world({4, 4, 4});
        world.cluster.lose_node(2);
        const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
        world.run(20);
        (void)world.cluster.submit_malleable(1, 8, {.steps = 3000});
        const auto is_asked = [&] { return world.cluster.count(EventKind::asked) == 1; };
        ck_assert(world.run_until(is_asked, 60) >= 0);
        if (!one_is_down) world.return_node(2);
        world.cluster.advance(2);
        world.restart();
        Journal journal{.continues = continues};
        if (silent_s > 0) journal.under_way_s[id] = world.cluster.now_s() - silent_s;
        world.controller->restore(journal);
        const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
        return world.run_until(runs, 90);
    };
    const double reconfigured_s = gap_s(true, 2, false);
    ck_assert_msg(reconfigured_s >= 0 && reconfigured_s < 6, "%g s", reconfigured_s);
    ck_assert_msg(gap_s(false, 2, false) >= 19, "slurmctld was killed");
    ck_assert_msg(gap_s(true, 0, false) >= 19, "it was released since");
    ck_assert_msg(gap_s(true, 11, false) >= 19, "nobody watched for a while");
    ck_assert_msg(gap_s(true, 2, true) >= 19, "a node is lost: perhaps its own");
}

TEST(a_job_waits_for_remains_on_a_node_that_returns) {
    // Just before the remains count as gone, and much later with no other node free.
    for (const double away_s : {17.0, 60.0})
        expect_late_return("back", [away_s](World &world, uint32_t) {
            world.cluster.lose_node(0);
            world.run(away_s);
            world.return_node(0);
        });
    expect_late_return("lost after an asked job had left it", [](World &world, uint32_t) {
        (void)world.cluster.submit_malleable(1, 4, {.steps = 300});
        const auto has_left = [&] { return world.cluster.count(EventKind::requeued) == 1; };
        ck_assert(world.run_until(has_left, 60) >= 0);
        world.cluster.lose_node(0);
        world.run(1.25);
        world.return_node(0);
    });
}

TEST(unseen_restart_reopens_the_fence) {
    // Its node is lost and returns between two passes. The next pass sees it completing or pending.
    for (const double unseen_s : {0.0, 2.0})
        expect_late_return("a run that nobody saw", [unseen_s](World &world, uint32_t id) {
            world.cluster.requeue(id);
            const auto is_released = [&] {
                return world.cluster.intent(id).state == IntentState::released;
            };
            ck_assert(world.run_until(is_released, 60) >= 0);
            world.cluster.advance(1.5);
            ck_assert(world.cluster.job(id).phase == JobPhase::running);
            world.cluster.lose_node(0);
            world.return_node(0);
            world.cluster.advance(unseen_s);
            ck_assert(world.cluster.job(id).phase ==
                      (unseen_s > 0 ? JobPhase::pending : JobPhase::completing));
        });
}

namespace {

// A job on nodes 0 and 1, seen running until 100 and pending at 101.
struct Fenced {
    Fence fence;
    std::vector<NodeRecord> nodes{{.name = "n0"}, {.name = "n1"}};
    JobRecord job{.id = 7, .gpus_on_node = {{0, 4}, {1, 4}}};
    double gap_end_s = 0;

    void runs(double now_s) { fence.update(job, Stage::running, false, nodes, gap_end_s, now_s); }
    void completes(double now_s) {
        if (!job.gpus_on_node.empty()) job.gpus_on_node.pop_back();
        job.slurmctld_s = std::floor(now_s);
        fence.update(job, Stage::completing, true, nodes, gap_end_s, now_s);
    }
    // Pending since 101, in an answer of that second. Returns whether its credential is new at
    // `now_s`.
    [[nodiscard]] bool may_launch_at(double now_s) {
        job.slurmctld_s = std::floor(now_s);
        fence.update(job, Stage::unsized, true, nodes, gap_end_s, now_s);
        return fence.has_new_credential(job, 1, now_s);
    }
    double waits(double now_s, bool asked) {
        fence.update(job, Stage::unsized, asked, nodes, gap_end_s, now_s);
        return fence.clear_s();
    }
};

}  // namespace

TEST(only_an_asked_watched_run_on_stable_nodes_lowers_the_fence) {
    Fenced good;
    good.runs(100);
    good.completes(100.5);
    ck_assert_double_eq(good.waits(101, true), 0);
    ck_assert_double_eq(*good.fence.waits_since_s(), 101);
    Fenced not_asked;
    not_asked.runs(100);
    ck_assert_double_eq(not_asked.waits(101, false), 121);
    Fenced unseen;
    ck_assert_double_eq(unseen.waits(101, true), 121);
    Fenced unwatched;
    unwatched.runs(100);
    unwatched.gap_end_s = 101;
    ck_assert_double_eq(unwatched.waits(101, true), 121);
    Fenced lost;
    lost.runs(100);
    lost.nodes[1].usable = false;
    ck_assert_double_eq(lost.waits(101, true), 121);
    ck_assert(lost.fence.has_lost_node());
}

// slurmd keeps the time of the request that ended the run, which is older than the first answer
// that shows it.
TEST(a_credential_is_new_one_second_after_the_runs_end_was_seen) {
    Fenced seen;
    seen.runs(100);
    seen.completes(100.2);
    seen.completes(101.1);
    ck_assert(seen.may_launch_at(101.3));
    Fenced same_second;
    same_second.runs(100);
    same_second.completes(100.2);
    ck_assert(!same_second.may_launch_at(100.9));
    ck_assert(same_second.may_launch_at(101));
    Fenced unseen;
    unseen.runs(100);
    ck_assert(!unseen.may_launch_at(101.3));
    ck_assert(!unseen.may_launch_at(101.9));
    ck_assert(unseen.may_launch_at(102));
}

TEST(a_requeue_or_run_after_the_seen_end_makes_the_credential_old) {
    Fenced requeued_while_ending;
    requeued_while_ending.runs(100);
    requeued_while_ending.completes(100.2);
    ++requeued_while_ending.job.restarts;
    ck_assert(!requeued_while_ending.may_launch_at(101.3));
    ck_assert(requeued_while_ending.may_launch_at(102));
    Fenced again;
    again.runs(100);
    again.completes(100.2);
    ck_assert(again.may_launch_at(101.3));
    ++again.job.restarts;  // an unseen run
    again.completes(103.5);
    ck_assert(!again.may_launch_at(103.9));
    ck_assert(again.may_launch_at(104));
    again.runs(105);
    again.completes(106.5);
    ck_assert(!again.may_launch_at(106.9));
}

TEST(a_node_that_is_lost_or_returns_raises_the_fence_again) {
    Fenced job;
    job.runs(100);
    ck_assert_double_eq(job.waits(101, true), 0);
    job.nodes[0].usable = false;
    ck_assert_double_eq(job.waits(110, true), 130);
    ck_assert_double_eq(job.waits(115, true), 130);
    job.nodes[0].usable = true;
    ck_assert_double_eq(job.waits(150, true), 170);
    ++job.job.restarts;  // it ran and ended unseen: its nodes are unknown
    ck_assert_double_eq(job.waits(160, true), 180);
    ck_assert(job.fence.has_lost_node());
}

int main() { return ringrt::test::run_all("fence", 600); }
