// SPDX-License-Identifier: BSD-3-Clause
// The controller on a Slurm in virtual time: ordinary resizes, and when no job is asked.
#include <cmath>

#include "slurm_plugin/controller/speed.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;

TEST(a_lone_job_starts_at_its_best_size) {
    World world({4, 4, 4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {});
    ck_assert(
        world.run_until([&] { return world.cluster.job(id).phase == JobPhase::running; }, 5) >= 0);
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 8);
    expect_all_finish(world, 300, "lone job");
    ck_assert(world.cluster.completed(id));
    ck_assert_int_eq(world.cluster.count(EventKind::asked), 0);
}

// Two GPUs on each node of four, and never more nodes than there are.
TEST(a_layout_holds_at_every_size_of_a_job) {
    World world({4, 4, 4});
    const uint32_t rigid = world.cluster.submit_rigid(8, 40, 1, 2);
    world.run(3);
    ck_assert(world.cluster.job(rigid).phase == JobPhase::running);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 4000});
    world.cluster.set_layout(id, {.gpus_per_node = 2});
    ck_assert(
        world.run_until([&] { return world.cluster.job(id).phase == JobPhase::running; }, 20) >= 0);
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 2);
    ck_assert_int_eq(world.cluster.job(id).nodes_requested, 1);
    ck_assert_msg(world.run_until([&] { return world.cluster.intent(id).resizes > 0; }, 90) >= 0,
                  "%s", world.cluster.story(id).c_str());
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 4);
    ck_assert_int_eq(world.cluster.job(id).nodes_requested, 2);
    ck_assert_int_eq(world.cluster.intent(id).layout.gpus_per_node, 2);
    world.run(60);
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 4);  // eight would need four nodes
    ck_assert_msg(world.cluster.violations.empty(), "%s", world.cluster.story().c_str());
}

// slurmd fails a job that is launched with a credential no younger than its old run's end.
TEST(a_job_comes_back_as_soon_as_its_credential_allows) {
    for (const double ahead_s : {0.0, -0.75, 0.75, -3.0, 3.0}) {
        World world({4, 4, 4, 4}, quick_options(), 7);
        world.clock_ahead_s = ahead_s;
        world.cluster.submit_malleable(1, 16, {.steps = 4000});
        for (int i = 0; i < 12; ++i) {
            world.run(17.25);
            world.cluster.submit_rigid(8, 6, 1, 2);
        }
        world.run(30);
        ck_assert_msg(world.cluster.violations.empty(), "%s", world.cluster.story().c_str());
        ck_assert_int_ge(world.cluster.count(EventKind::resized), 8);
        double left_s = 0;
        int returns = 0;
        for (const Event &event : world.cluster.events) {
            if (event.kind == EventKind::requeued) left_s = event.time_s;
            if (event.kind != EventKind::released || left_s == 0) continue;
            ck_assert_msg(event.time_s - left_s <= 1.25, "%g s ahead: after %g s", ahead_s,
                          event.time_s - left_s);
            left_s = 0;
            ++returns;
        }
        ck_assert_int_ge(returns, 8);
    }
}

TEST(a_second_job_makes_the_first_shrink_and_grow_again) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 2000});
    world.run(20);
    const uint32_t b = world.cluster.submit_malleable(1, 8, {.steps = 200});
    const double wait =
        world.run_until([&] { return world.cluster.job(b).phase == JobPhase::running; }, 30);
    ck_assert_msg(wait >= 0 && wait < 12, "%s", world.cluster.story().c_str());
    ck_assert(world.run_until(
                  [&] {
                      return world.cluster.job(a).phase == JobPhase::running &&
                             world.cluster.job(a).gpus_requested == 4;
                  },
                  20) >= 0);
    expect_all_finish(world, 1500, "two jobs");
    ck_assert_msg(world.cluster.count(EventKind::resized) >= 2, "%s",
                  world.cluster.story().c_str());
    ck_assert_double_eq(world.cluster.lost_steps(a), 0);
    for (const Event &event : world.cluster.events)
        if (event.kind == EventKind::resized)
            ck_assert_msg(event.gap_s > 0 && event.gap_s < 5.5, "gap %g", event.gap_s);
    const Statistics &counted = world.controller->statistics();
    double restart_s = 0, restart_gpu_s = 0;
    for (const Event &event : world.cluster.events)
        restart_s += event.gap_s, restart_gpu_s += event.gap_s * event.from;
    ck_assert_uint_ge(counted.restarts, counted.resizes.resized);
    ck_assert_double_eq_tol(counted.restart_s, restart_s, 1e-9);
    ck_assert_double_eq_tol(counted.restart_gpu_s, restart_gpu_s, 1e-9);
}

TEST(borrowed_gpus_are_those_above_min) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(2, 8, {.steps = 2000});
    ck_assert(
        world.run_until([&] { return world.cluster.job(id).phase == JobPhase::running; }, 10) >= 0);
    world.run(5);
    const Statistics &counted = world.controller->statistics();
    ck_assert_int_eq(counted.gpus_held, world.cluster.job(id).gpus_requested);
    ck_assert_int_eq(counted.gpus_borrowed, world.cluster.job(id).gpus_requested - 2);
    ck_assert_int_gt(counted.gpus_borrowed, 0);
    ck_assert_int_eq(counted.waiting, 0);
}

TEST(a_rigid_job_gets_borrowed_gpus_back) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1000});
    world.run(20);
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 8);
    const uint32_t rigid = world.cluster.submit_rigid(4, 60);
    const double wait =
        world.run_until([&] { return world.cluster.job(rigid).phase == JobPhase::running; }, 60);
    ck_assert_msg(wait >= 0 && wait < 10, "%s", world.cluster.story().c_str());
    world.run(15);
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 4);
    ck_assert(world.run_until([&] { return world.cluster.job(a).gpus_requested == 8; }, 120) >= 0);
    expect_all_finish(world, 1500, "rigid");
}

// For --gpus alone Slurm distributes 14 GPUs as 3, 3, 4 and 4: what two malleable jobs lend of two
// nodes is enough. On at most three nodes, one of the two moves to the other's node.
TEST(a_rigid_job_of_uneven_shares_gets_borrowed_gpus_back) {
    for (const int gpus : {10, 12, 13, 14}) {
        World world({4, 4, 4, 4});
        for (int i = 0; i < 2; ++i) (void)world.cluster.submit_malleable(1, 4, {.steps = 1000});
        world.run(20);
        const uint32_t rigid = world.cluster.submit_rigid(gpus, 60, 1, (gpus + 3) / 4);
        world.cluster.set_any_shares(rigid, gpus == 12 ? 4 : 0);
        const double wait = world.run_until(
            [&] { return world.cluster.job(rigid).phase == JobPhase::running; }, 60);
        ck_assert_msg(wait >= 0 && wait < 10, "%d: %s", gpus, world.cluster.story().c_str());
        const int in_vain = world.cluster.count(EventKind::asked);
        ck_assert_msg(in_vain == (gpus > 11 ? 2 : 1), "%d: %d asked", gpus, in_vain);
    }
    World world({4, 4, 4, 4});
    for (int i = 0; i < 2; ++i) (void)world.cluster.submit_malleable(1, 4, {.steps = 1000});
    world.run(20);
    const uint32_t rigid = world.cluster.submit_rigid(12, 60, 1, 3);
    world.cluster.set_any_shares(rigid, 3);
    const double wait =
        world.run_until([&] { return world.cluster.job(rigid).phase == JobPhase::running; }, 60);
    ck_assert_msg(wait >= 0 && wait < 10, "%s", world.cluster.story().c_str());
    world.run(10);
    ck_assert_msg(world.cluster.count(EventKind::asked) == 2, "%s", world.cluster.story().c_str());
}

// The paper's rule gives GPUs to the job with the most work left. Neither job reports its end. From
// their losses the policy derives which job that is, also after a resize.
TEST(the_remaining_work_is_learned_from_the_loss) {
    for (const bool tells_loss : {true, false}) {
        Options options = quick_options();
        options.policy = "doubling-absolute";
        World world({4, 2}, options);
        const double goal = tells_loss ? 0.4 : 0;
        const auto submit = [&](double steps) {
            return world.cluster.submit_malleable(
                1, 4, {.steps = steps, .says_left = false, .loss_goal = goal});
        };
        const uint32_t soon = submit(900);
        world.run(20);
        const uint32_t late = submit(30000);
        world.run(100);
        ck_assert_msg(world.cluster.job(late).gpus_requested == (tells_loss ? 4 : 2), "%s",
                      world.cluster.story().c_str());
        ck_assert_int_eq(world.cluster.job(soon).gpus_requested, tells_loss ? 2 : 4);
        Observation seen;
        ck_assert(world.cluster.observe(seen) == RpcStatus::ok);
        const Plan plan = decide(seen, malleable_jobs(seen, options), {}, options);
        for (const Target &target : plan.targets) {
            const double truth = (target.job.id == late ? 30000 : 900) - target.job.steps_done;
            ck_assert(std::isfinite(target.job.steps_left) == tells_loss);
            if (tells_loss) ck_assert_double_eq_tol(target.job.steps_left, truth, 0.3 * truth);
        }
    }
}

// A slow save and a slow start count as that job's restart cost from its first resize on. Until
// then every job costs what malleable.yaml sets, or its own start-up if that is more.
TEST(the_cost_of_a_restart_is_learned_for_each_job) {
    for (const auto &[save_s, start_s] : {std::pair{0.5, 1.0}, {9.0, 1.0}, {0.5, 14.0}}) {
        World world({4, 4});
        const uint32_t id = world.cluster.submit_malleable(
            1, 8, {.steps = 2000, .start_s = start_s, .save_s = save_s});
        world.run(30);
        const auto believed_s = [&] {
            Observation seen;
            ck_assert(world.cluster.observe(seen) == RpcStatus::ok);
            for (const Target &target :
                 decide(seen, malleable_jobs(seen, world.options), {}, world.options).targets)
                if (target.job.id == id) return target.job.restart_s;
            return -1.0;
        };
        ck_assert_double_eq_tol(believed_s(), std::max(world.options.restart_s, start_s), 1);
        world.cluster.submit_malleable(1, 8, {.steps = 2000});
        ck_assert(world.run_until([&] { return world.cluster.intent(id).resizes == 1; }, 60) >= 0);
        const double gap_s = world.cluster.intent(id).restart_s;
        ck_assert_msg(gap_s > save_s && gap_s < save_s + 6, "%g s", gap_s);
        world.run(start_s + 10);
        ck_assert_double_eq_tol(believed_s(), gap_s + start_s, 1.5);
    }
}

// Many rigid jobs are pending: those that fit in addition to the malleable job's MIN start, and it
// restarts.
TEST(a_queue_of_rigid_jobs_gets_its_gpus) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 600});
    world.run(20);
    std::vector<uint32_t> rigid;
    for (int i = 0; i < 6; ++i) rigid.push_back(world.cluster.submit_rigid(2, 15));
    const double wait =
        world.run_until([&] { return world.cluster.job(rigid[0]).phase == JobPhase::running; }, 60);
    ck_assert_msg(wait >= 0 && wait < 10, "%s", world.cluster.story().c_str());
    expect_all_finish(world, 1500, "rigid queue");
    ck_assert(world.cluster.completed(a));
}

// With reclaim: higher-priority, a rigid job without higher priority waits as for any other job.
TEST(reclaim_can_depend_on_the_priority) {
    Options options = quick_options();
    options.reclaim = Reclaim::higher_priority;
    World world({4, 4}, options);
    world.cluster.submit_malleable(1, 8, {.steps = 600});
    world.run(20);
    const uint32_t low = world.cluster.submit_rigid(4, 20, 1);
    world.run(30);
    ck_assert(world.cluster.job(low).phase == JobPhase::pending);
    const uint32_t high = world.cluster.submit_rigid(4, 20, 2);
    const double wait =
        world.run_until([&] { return world.cluster.job(high).phase == JobPhase::running; }, 30);
    ck_assert_msg(wait >= 0, "%s", world.cluster.story().c_str());
    expect_all_finish(world, 1500, "reclaim");
}

TEST(a_job_without_telemetry_is_asked_after_it_has_settled) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 600, .telemetry_s = 0});
    world.run(3);
    world.cluster.submit_malleable(1, 8, {.steps = 300, .telemetry_s = 0});
    ck_assert(world.run_until([&] { return world.cluster.intent(a).resizes > 0; }, 60) >= 0);
    expect_all_finish(world, 3000, "no telemetry");
}

TEST(no_second_resize_before_there_is_progress) {
    World world({4, 4});
    const uint32_t a =
        world.cluster.submit_malleable(1, 8, {.steps = 20, .step_s = 60, .telemetry_s = 1});
    for (int i = 0; i < 8; ++i) {
        world.run(5);
        world.cluster.submit_malleable(1, 8, {.steps = 10});
    }
    expect_all_finish(world, 3000, "progress");
    ck_assert(world.cluster.intent(a).resizes >= 2);
}

TEST(five_hundred_jobs_shrink_a_few_at_a_time) {
    World world(std::vector<int>(500, 4));
    for (int i = 0; i < 500; ++i) world.cluster.submit_malleable(1, 4, {.steps = 300});
    world.run(30);
    for (int i = 0; i < 500; ++i) world.cluster.submit_malleable(1, 4, {.steps = 100});
    expect_all_finish(world, 5000, "storm");
    ck_assert(world.cluster.count(EventKind::asked) > 200);
}

// A released job whose GPUs another job took gets the largest size that is free.
TEST(a_released_job_takes_the_largest_free_size) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 100});
    world.run_until([&] { return world.cluster.intent(a).state == IntentState::released; }, 5);
    world.cluster.submit_rigid(2, 100, 10);
    const double wait =
        world.run_until([&] { return world.cluster.job(a).phase == JobPhase::running; }, 60);
    ck_assert_msg(wait > 5 && wait < 15, "%g s\n%s", wait, world.cluster.story().c_str());
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 4);
    ck_assert_int_eq(world.cluster.count(EventKind::downsized), 1);
    expect_all_finish(world, 500, "taken");
}

// For a moment rigid jobs take everything that a shrinking job leaves, including its place. That
// must not keep the other jobs from shrinking, which is what lets it run again.
TEST(a_job_that_lost_its_place_does_not_count_as_in_flight) {
    Options options{.mode = Mode::act};
    options.resizes_in_flight = 3;
    World world({4, 4, 4, 4}, options);
    for (int i = 0; i < 8; ++i) (void)world.cluster.submit_malleable(1, 2, {.steps = 100000});
    world.run(30);
    std::vector<uint32_t> rigid;
    for (int i = 0; i < 8; ++i) rigid.push_back(world.cluster.submit_rigid(1, 600));
    const auto all_run = [&] {
        return std::ranges::all_of(
            rigid, [&](uint32_t id) { return world.cluster.job(id).phase == JobPhase::running; });
    };
    ck_assert_msg(world.run_until(all_run, 120) >= 0, "%s", world.cluster.story().c_str());
}

// Nodes of 4 GPUs and 16 CPUs, 8 CPUs per task: a node takes at most two tasks.
TEST(jobs_ask_for_nodes_that_have_their_cpus) {
    World world({4, 4, 4, 4});
    world.cluster.node_cpus = 16;
    const uint32_t id = world.cluster.submit_malleable(1, 16, {.steps = 3000});
    world.cluster.set_cpus_per_task(id, 8);
    const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
    ck_assert(world.run_until(runs, 60) >= 0);
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 8);  // 16 GPUs would need 8 nodes
    ck_assert_int_eq(world.cluster.job(id).nodes_requested, 4);
    ck_assert_int_eq(world.cluster.count(EventKind::downsized), 0);
}

// A job on a draining node must not be asked: it could not restart there, and a rigid job could not
// use its GPUs.
TEST(a_job_on_a_draining_node_is_left_alone) {
    World world({4, 4});
    world.cluster.submit_rigid(4, 10000);
    const uint32_t a = world.cluster.submit_malleable(1, 4, {.steps = 100000});
    world.run(20);
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 4);
    world.cluster.drain_node(1);
    world.cluster.submit_malleable(1, 4, {.steps = 100});
    world.cluster.submit_rigid(2, 10);
    world.run(60);
    ck_assert_msg(world.cluster.count(EventKind::asked) == 0, "%s", world.cluster.story().c_str());
    ck_assert(world.cluster.job(a).phase == JobPhase::running);
}

// A user may run two jobs: while one is away the third would start, and the first would have to
// wait.
TEST(a_job_whose_user_is_at_a_limit_is_not_asked) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 4, {.steps = 100000}, 1);
    world.cluster.submit_rigid(4, 10000);
    world.run(20);
    Observation seen;
    ck_assert(world.cluster.observe(seen) == RpcStatus::ok);
    seen.jobs.push_back(
        {.id = 99, .pending_reason = PendingReason::limit, .user_id = 7, .gpus_requested = 1});
    for (const uint32_t user : {7, 8}) {
        for (JobRecord &record : seen.jobs)
            if (record.id == a) record.user_id = user;
        for (const Target &target :
             decide(seen, malleable_jobs(seen, world.options), {}, world.options).targets)
            ck_assert(target.gap_contended == (user == 7));
    }
}

// In a full queue Slurm's jobs are listed seconds late.
TEST(a_start_seen_late_is_no_refusal) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run_until([&] { return world.cluster.intent(a).state == IntentState::released; }, 5);
    ck_assert(world.cluster.job(a).phase == JobPhase::pending);
    world.cluster.freeze(a);
    ck_assert(world.run_until([&] { return world.cluster.job(a).phase == JobPhase::running; }, 5) >=
              0);
    world.run(20);  // it is refitted as if it were pending
    ck_assert_int_eq(world.cluster.count(EventKind::refused), 0);
    ck_assert_int_eq(world.cluster.count(EventKind::started), 1);
    expect_all_finish(world, 500, "start seen late");
}

TEST(a_requeue_seen_late_is_not_asked_to_resize) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 2000});
    world.run(20);
    world.cluster.freeze(a);
    world.cluster.requeue(a);
    world.cluster.submit_malleable(1, 8, {.steps = 200});
    world.run(15);
    expect_sound(world, "requeue seen late");
    expect_all_finish(world, 2500, "requeue seen late");
}

// While the controller is away Slurm alone requeues and restarts it: the new start is detected.
TEST(an_unseen_restart_is_detected) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 900});
    world.run(20);
    world.cluster.requeue(a);
    world.cluster.advance(130);
    ck_assert(world.cluster.job(a).phase == JobPhase::running);
    world.run(5);
    ck_assert_int_eq(world.cluster.intent(a).run, 1);
    ck_assert_int_eq(world.cluster.intent(a).start_s,
                     static_cast<int64_t>(world.cluster.job(a).start_s));
    expect_all_finish(world, 1000, "unseen restart");
}

// Released, started and requeued between two passes: it is released again and does not wait for 121
// s.
TEST(an_unseen_run_is_detected) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 100});
    world.run_until([&] { return world.cluster.intent(a).state == IntentState::released; }, 5);
    world.cluster.advance(1);
    ck_assert(world.cluster.job(a).phase == JobPhase::running);
    world.cluster.requeue(a);
    world.cluster.advance(1);
    ck_assert(
        world.run_until([&] { return world.cluster.job(a).phase == JobPhase::running; }, 30) >= 0);
    expect_all_finish(world, 500, "unseen run");
}

// Amdahl's default makes eight GPUs 4.7 times as fast as one. A job whose gradients take most of
// the step plans differently.
TEST(planned_speeds_stand_in_for_sizes_not_yet_measured) {
    ringrt::records::Telemetry telemetry{.gpus = 1, .step = 50, .step_ms = 100};
    const auto before = speed_of(telemetry);
    ck_assert_double_eq_tol(before.step_ms(8), 100 * (0.9 / 8 + 0.1), 1e-6);
    telemetry.planned = {{{1, 90}, {2, 88}, {4, 84}, {8, 83}}};  // ten milliseconds are not planned
    telemetry.planned_sizes = 4;
    const auto planned = speed_of(telemetry);
    ck_assert_double_eq_tol(planned.step_ms(1), 100, 3);
    ck_assert_double_eq_tol(planned.step_ms(8), 92, 5);
    telemetry.samples = 3;  // measurements count for more
    telemetry.speed[0] = {1, 100};
    telemetry.speed[1] = {4, 30};
    telemetry.speed[2] = {8, 18};
    ck_assert_double_eq_tol(speed_of(telemetry).step_ms(8), 18, 3);
    telemetry.gpus = 16;  // the current size is not among the planned ones: no scale, no effect
    telemetry.step_ms = 12;
    ck_assert_double_le(speed_of(telemetry).step_ms(16), 13);
}

int main() { return ringrt::test::run_all("resize", 600); }
