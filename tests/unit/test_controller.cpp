// SPDX-License-Identifier: BSD-3-Clause
// The controller against a Slurm in virtual time: ordinary resizes, every state x every event, and
// a random walk over thousands of seeds.
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "slurm_plugin/controller/speed.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;

namespace {

// One state of a cluster that says ok to everything.
class Agreeing : public Cluster, public EventSink {
  public:
    RpcStatus observe(Observation &out) override { return out = seen, RpcStatus::ok; }
    RpcStatus write_intent(uint32_t, const std::string &, std::optional<int64_t>) override {
        return RpcStatus::ok;
    }
    RpcStatus update_pending(uint32_t, const PendingUpdate &) override { return RpcStatus::ok; }
    RpcStatus signal_steps(uint32_t, int) override { return RpcStatus::ok; }
    void write(const Event &event) override { said.push_back(event); }
    Observation seen;
    std::vector<Event> said;
};

}  // namespace

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

TEST(an_event_says_whose_job_it_is) {
    Event event{.time_s = 5, .job_id = 7, .text = "x"};
    ck_assert(to_json(event).ends_with(",\"text\":\"x\"}"));
    event.name = "a\"b\n", event.user_id = 1000;
    ck_assert(to_json(event).ends_with(",\"name\":\"a\\\"b?\",\"user\":1000}"));
}

// mode: detach, at many moments of a resize, and with a controller that is started anew meanwhile.
TEST(every_job_is_handed_back) {
    for (int moment = 0; moment < 40; ++moment) {
        World world({4, 4});
        const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 200000});
        world.run(20);
        const uint32_t b = world.cluster.submit_malleable(1, 8, {.steps = 200000});
        const uint32_t held = world.cluster.submit_malleable(2, 8, {.steps = 100}, 4, -1, 5000);
        world.run(moment * 0.4);
        world.options.mode = Mode::detach;
        if (moment % 3 == 0)
            world.restart();
        else
            world.controller->set_options(world.options);
        const int asked = world.cluster.count(EventKind::asked);
        world.run(150);
        for (const uint32_t id : {a, b, held})
            EXPECT_TEXT(world.cluster.job(id).admin_comment, "site=1");
        ck_assert_int_eq(world.cluster.job(held).gpus_requested, 4);
        ck_assert_int_eq(world.cluster.count(EventKind::asked), asked);
        expect_sound(world, "detach");
        ck_assert_double_eq(world.cluster.lost_steps(a), 0);
    }
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

// The paper's rule gives GPUs to the job that has the most to do. Neither job knows its end; of
// those that report their loss, the policy finds out which that is, and goes on knowing after a
// resize.
TEST(what_is_left_is_learned_from_the_loss) {
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
        const Decision decision = decide(seen, malleable_jobs(seen), {}, options);
        for (const Wish &wish : decision.wishes) {
            const double truth = (wish.job.id == late ? 30000 : 900) - wish.job.steps_done;
            ck_assert(std::isfinite(wish.job.steps_left) == tells_loss);
            if (tells_loss) ck_assert_double_eq_tol(wish.job.steps_left, truth, 0.3 * truth);
        }
    }
}

// A job that takes long to save is believed to cost that from its first resize on; until then all
// cost what malleable.yaml says.
TEST(what_a_restart_costs_is_learned_for_each_job) {
    for (const double save_s : {0.5, 9.0}) {
        World world({4, 4});
        const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 2000, .save_s = save_s});
        world.run(20);
        const auto believed_s = [&] {
            Observation seen;
            ck_assert(world.cluster.observe(seen) == RpcStatus::ok);
            for (const Wish &wish : decide(seen, malleable_jobs(seen), {}, world.options).wishes)
                if (wish.job.id == id) return wish.job.restart_s;
            return -1.0;
        };
        ck_assert_double_eq(believed_s(), world.options.restart_s);
        world.cluster.submit_malleable(1, 8, {.steps = 2000});
        ck_assert(world.run_until([&] { return world.cluster.intent(id).resizes == 1; }, 60) >= 0);
        const double measured_s = world.cluster.intent(id).restart_s;
        ck_assert_double_eq_tol(believed_s(), measured_s, 1e-9);
        ck_assert_msg(measured_s > save_s && measured_s < save_s + 6, "%g s", measured_s);
    }
}

// Many rigid jobs wait: those that fit beside the malleable job's MIN start, and it comes back.
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

// With reclaim: higher-priority, a rigid job of no higher priority waits as for any other job.
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

TEST(a_job_that_ignores_the_signal_goes_on) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 3000, .heeds_signal = false});
    world.run(20);
    world.cluster.submit_malleable(1, 8, {.steps = 100});
    ck_assert(world.run_until([&] { return world.cluster.count(EventKind::called_off) > 0; }, 60) >=
              0);
    ck_assert(world.cluster.intent(a).state == IntentState::running);
    ck_assert_int_eq(world.cluster.job(a).restarts, 0);
    // Back-off: the pauses between two asks get longer.
    for (int i = 0; i < 20; ++i) {
        world.run(40);
        world.cluster.submit_malleable(1, 8, {.steps = 100});
    }
    std::vector<double> asked_s;
    for (const Event &event : world.cluster.events)
        if (event.job_id == a && event.kind == EventKind::asked) asked_s.push_back(event.time_s);
    ck_assert_msg(asked_s.size() >= 4, "%s", world.cluster.story(a).c_str());
    for (std::size_t i = 3; i < asked_s.size(); ++i)
        ck_assert(asked_s[i] - asked_s[i - 1] > 1.2 * (asked_s[i - 1] - asked_s[i - 2]));
    expect_all_finish(world, 8000, "ignores");
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

TEST(the_time_limit_counts_over_all_runs) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6}, 0, 600);
    for (int i = 0; i < 6; ++i) {
        world.run(40);
        world.cluster.submit_malleable(1, 8, {.steps = 30});
    }
    expect_all_finish(world, 3000, "time limit");
    ck_assert(world.cluster.intent(a).resizes >= 4);
    ck_assert_msg(world.cluster.run_time_s(a) <= 660 && world.cluster.run_time_s(a) > 400, "%g s",
                  world.cluster.run_time_s(a));
}

// Slurm chooses a limit at each start, and shows another one while the job waits.
TEST(a_time_limit_that_slurm_chose_counts_over_all_runs) {
    for (const int64_t most_s : {int64_t{-1}, int64_t{6000}, int64_t{600}}) {
        World world({4, 4});
        const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6});
        world.cluster.leave_time_limit(a, 600, most_s);
        for (int i = 0; i < 6; ++i) {
            world.run(40);
            world.cluster.submit_malleable(1, 8, {.steps = 30});
        }
        expect_all_finish(world, 3000, "a time limit by Slurm");
        ck_assert_msg(world.cluster.intent(a).resizes >= 4 && world.cluster.run_time_s(a) <= 660 &&
                          world.cluster.run_time_s(a) > 400,
                      "most %lld: %g s", static_cast<long long>(most_s),
                      world.cluster.run_time_s(a));
    }
}

TEST(an_administrators_time_limit_for_a_running_job_stands) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6});
    world.cluster.leave_time_limit(a, 600, -1);
    world.run(40);
    world.cluster.set_time_limit(a, 7200);
    world.run(5);
    world.cluster.submit_malleable(1, 8, {.steps = 300});
    ck_assert(world.run_until([&] { return world.cluster.intent(a).resizes > 0; }, 60) >= 0);
    ck_assert_int_ge(world.cluster.job(a).time_limit_s, 7000);
    ck_assert_int_lt(world.cluster.job(a).time_limit_s, 7200);
}

TEST(a_suspension_counts_for_no_time_limit) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6}, 0, 600);
    world.run(60);
    world.cluster.suspend(a, true);
    world.run(700);
    world.cluster.suspend(a, false);
    world.run(10);
    world.cluster.submit_malleable(1, 8, {.steps = 300});
    ck_assert_msg(world.run_until([&] { return world.cluster.intent(a).resizes > 0; }, 60) >= 0,
                  "%s", world.cluster.story(a).c_str());
    ck_assert_int_ge(world.cluster.job(a).time_limit_s, 420);
    ck_assert_int_lt(world.cluster.job(a).time_limit_s, 600);
}

TEST(observe_says_and_touches_nothing) {
    Options options = quick_options();
    options.mode = Mode::observe;
    World world({4, 4}, options);
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300});
    const std::string record = world.cluster.job(a).admin_comment;
    expect_all_finish(world, 1000, "observe");
    EXPECT_TEXT(world.cluster.job(a).admin_comment, record);
    ck_assert_int_ge(world.cluster.count(EventKind::dry_run), 1);
    ck_assert_int_le(world.cluster.count(EventKind::dry_run), 3);
    ck_assert_int_eq(world.cluster.count(EventKind::asked), 0);
}

TEST(off_does_nothing) {
    Options options = quick_options();
    options.mode = Mode::off;
    World world({4});
    world.options = options;
    world.restart();
    world.cluster.submit_malleable(1, 4, {.steps = 20});
    expect_all_finish(world, 200, "off");
    ck_assert(world.cluster.events.empty());
}

TEST(five_hundred_jobs_shrink_a_few_at_a_time) {
    World world(std::vector<int>(500, 4));
    for (int i = 0; i < 500; ++i) world.cluster.submit_malleable(1, 4, {.steps = 300});
    world.run(30);
    for (int i = 0; i < 500; ++i) world.cluster.submit_malleable(1, 4, {.steps = 100});
    expect_all_finish(world, 5000, "storm");
    ck_assert(world.cluster.count(EventKind::asked) > 200);
}

TEST(idle_asks_once_a_second_at_most) {
    World world({4});
    world.cluster.submit_malleable(4, 4, {.steps = 500});
    world.run(30);
    const uint64_t before = world.controller->statistics().passes;
    world.run(60);
    ck_assert_int_le(world.controller->statistics().passes - before, 61);
}

TEST(slurm_away_is_said_once_and_survived) {
    World world({4, 4});
    world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.cluster.faults.unreachable = 1;
    world.run(60);
    world.cluster.faults.unreachable = 0;
    expect_all_finish(world, 500, "away");
}

// Requeued, and run again by Slurm alone, while the controller is away: its new start is noticed.
TEST(a_restart_that_nobody_saw_is_noticed) {
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

// Released, started and requeued between two looks: it is released again, not left to wait for 121
// s.
TEST(a_run_that_nobody_saw_is_noticed) {
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

// A released job whose GPUs somebody else took gets the largest size that is free.
TEST(a_released_job_takes_what_is_left) {
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

// A start time set after we released it is its user's, even one sooner than Slurm's own hold.
TEST(a_start_time_set_after_the_release_stands) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 200});
    world.run(20);
    world.cluster.requeue(a);
    world.run_until([&] { return world.cluster.intent(a).state == IntentState::released; }, 40);
    world.cluster.set_begin(a, world.cluster.now_s() + 60);
    world.run(59);
    ck_assert(world.cluster.job(a).phase == JobPhase::pending);
    expect_all_finish(world, 500, "start time");
}

TEST(a_size_that_somebody_else_set_stands) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run(20);
    world.cluster.set_gpus(a, 3);
    world.run(5);
    ck_assert_int_eq(world.cluster.count(EventKind::user_override), 1);
    world.cluster.submit_malleable(1, 8, {.steps = 100});
    expect_all_finish(world, 1000, "somebody's size");
    ck_assert_int_eq(world.cluster.intent(a).resize_id, 0);
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 3);
}

// Jobs one after the other never come to their checkpoint: after some, none is asked for a while;
// then one is, and when that fails too all wait again.
TEST(a_running_job_without_a_record_is_not_said_to_have_ended) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run(20);
    world.cluster.remove_record(a);
    world.run(5);
    ck_assert(world.cluster.job(a).phase == JobPhase::running);
    ck_assert_msg(world.cluster.count(EventKind::user_override) == 1 &&
                      world.cluster.count(EventKind::ended) == 0,
                  "%s", world.cluster.story().c_str());
    expect_all_finish(world, 500, "no record");
}

TEST(the_breaker_pauses_all_resizes) {
    Options options = quick_options();
    options.breaker_jobs = 3;
    options.breaker_pause_s = 300;
    options.resizes_in_flight = 1;
    options.back_off_s = 5000;  // each job is asked once
    World world(std::vector<int>(8, 4), options);
    for (int i = 0; i < 8; ++i)
        world.cluster.submit_malleable(1, 4, {.steps = 4000, .heeds_signal = false});
    world.run(30);
    for (int i = 0; i < 8; ++i) world.cluster.submit_rigid(2, 1e6);
    const auto paused = [&] { return world.cluster.count(EventKind::error) > 0; };
    ck_assert_msg(world.run_until(paused, 300) >= 0, "%s", world.cluster.story().c_str());
    ck_assert_int_eq(world.cluster.count(EventKind::called_off), 3);
    const int asked = world.cluster.count(EventKind::asked);
    world.run(290);
    ck_assert_int_eq(world.cluster.count(EventKind::asked), asked);
    ck_assert(world.controller->statistics().breaker_until_s > world.cluster.now_s());
    world.run(60);  // on trial: one is asked, it fails, and all wait again
    ck_assert_int_eq(world.cluster.count(EventKind::asked), asked + 1);
    ck_assert_int_eq(world.cluster.count(EventKind::error), 2);
    ck_assert_uint_eq(world.controller->statistics().resizes.called_off, 4);
}

TEST(the_breaker_counts_jobs_and_not_failures) {
    Breaker breaker;
    for (int i = 0; i < 10; ++i) ck_assert(!breaker.failed(7, 100 + i, 2, 60));
    ck_assert(breaker.failed(8, 110, 2, 60));
    ck_assert(breaker.is_open(169) && !breaker.is_open(171));
    ck_assert_int_eq(breaker.in_flight_most(120, 8), 0);
    ck_assert_int_eq(breaker.in_flight_most(171, 8), 1);
    breaker.succeeded();
    ck_assert_int_eq(breaker.in_flight_most(172, 8), 8);
}

// With nothing to do and the same state again nothing is done; a new state, the next decision and a
// reload are looked at.
TEST(a_quiet_queue_is_not_gone_through_again) {
    class Counting final : public Agreeing {
      public:
        RpcStatus observe(Observation &out) override {
            copies += out.version != seen.version;
            if (out.version != seen.version) out = seen;
            return RpcStatus::ok;
        }
        int copies = 0;
    } cluster;
    cluster.seen.version = 1;
    Options options = quick_options();
    options.interval_s = 10;
    Controller controller(cluster, cluster, options);
    double now_s = 1000;
    for (; now_s < 1009; ++now_s) controller.pass(now_s);
    ck_assert_int_eq(cluster.copies, 1);
    for (; now_s < 1019; ++now_s) controller.pass(now_s);  // one more decision
    ck_assert_int_eq(cluster.copies, 2);
    cluster.seen.version = 2;
    controller.pass(now_s);
    ck_assert_int_eq(cluster.copies, 3);
    controller.set_options(options);
    controller.pass(now_s);
    ck_assert_int_eq(cluster.copies, 4);
    ck_assert_uint_eq(controller.statistics().passes, 21);
}

namespace {

// One job, in Slurm's list from some moment on, whose requeue succeeds at the third try.
class Ended final : public Agreeing {
  public:
    RpcStatus requeue_failed(uint32_t) override {
        return ++asked < 3 ? RpcStatus::busy : RpcStatus::ok;
    }
    int asked = 0;
};

// A job that was asked to resize, and ended by SIGTERM.
JobRecord taken_down(ringrt::records::IntentState state) {
    ringrt::records::Intent intent{.gpus_min = 1, .gpus_max = 8, .gpus = 4};
    intent.state = state;
    intent.target = 2;
    intent.run = 1;
    JobRecord job{.id = 7, .phase = JobPhase::finished, .end_s = 995, .restarts = 1};
    job.failed = true;
    job.end_signal = 15;
    job.admin_comment = ringrt::records::format_into("", intent);
    return job;
}

// How often the controller, begun at `begun_s`, has it requeued (3: until it is).
int requeues(const JobRecord &job, double begun_s, double now_s,
             const std::string &event_log = "") {
    Ended cluster;
    Controller controller(cluster, cluster, quick_options());
    controller.remember(past_of(event_log));
    controller.pass(begun_s);
    cluster.seen.jobs = {job};
    for (int i = 0; i < 5 && cluster.asked < 3; ++i) controller.pass(now_s + i);
    const bool told = std::ranges::count(cluster.said, EventKind::requeued, &Event::kind) == 1;
    ck_assert(told == (cluster.asked == 3));
    return cluster.asked;
}

}  // namespace

// F21: slurmctld, killed, forgot the requeue of a job that it then sees end by SIGTERM.
TEST(a_job_taken_down_by_a_forgotten_requeue_is_brought_back) {
    const JobRecord job = taken_down(ringrt::records::IntentState::asked);
    ck_assert_int_eq(requeues(job, 990, 1000), 3);
    ck_assert_int_eq(requeues(job, 500, 1000), 0);  // slurmctld was not restarted
    ck_assert_int_eq(requeues(job, 1200, 1300), 0);
    JobRecord other = job;
    other.end_signal = 9;
    ck_assert_int_eq(requeues(other, 990, 1000), 0);
    other = job;
    other.failed = false;  // cancelled, or its time was up
    ck_assert_int_eq(requeues(other, 990, 1000), 0);
    other = job;
    other.restarts = 2;  // it ran again since
    ck_assert_int_eq(requeues(other, 990, 1000), 0);
}

// The same where the record of the request was lost with slurmctld: the event log tells of it.
TEST(a_forgotten_request_is_known_from_the_event_log) {
    JobRecord job = taken_down(ringrt::records::IntentState::running);
    ck_assert_int_eq(requeues(job, 990, 1000), 0);
    const std::string asked =
        to_json({.time_s = 985, .job_id = 7, .kind = EventKind::asked}) + "\n";
    const std::string ran = to_json({.time_s = 986, .job_id = 7, .kind = EventKind::resized});
    const std::string sized = to_json({.time_s = 987, .job_id = 8, .kind = EventKind::released});
    ck_assert_int_eq(requeues(job, 990, 1000, "7\"}\n" + asked + "torn\n" + sized), 3);
    ck_assert_int_eq(requeues(job, 990, 1000, asked + ran + "\n"), 0);
    ck_assert_int_eq(requeues(job, 990, 1000, sized), 0);
    job.restarts = 2;
    ck_assert_int_eq(requeues(job, 990, 1000, asked), 0);
}

// Its grace time ran out while slurmctld was away: it has left all the same.
TEST(a_resize_of_a_job_that_has_left_is_not_called_off) {
    class Left final : public Agreeing {
      public:
        RpcStatus requeue_if_gone(uint32_t) override {
            if (seen.jobs.at(0).phase != JobPhase::running) return RpcStatus::refused;
            seen.jobs.at(0).phase = JobPhase::pending;  // as the next observation shows it
            ++seen.jobs.at(0).restarts;
            return RpcStatus::ok;
        }
    };
    Left cluster;
    JobRecord job{.id = 7, .phase = JobPhase::running, .start_s = 900};
    job.admin_comment = ringrt::records::format_into("", {.gpus_min = 1,
                                                          .gpus_max = 8,
                                                          .grace_s = 18,
                                                          .state = IntentState::asked,
                                                          .target = 4,
                                                          .since_s = 950,
                                                          .asked_s = 950,
                                                          .run = 0});
    cluster.seen.jobs = {job};
    Controller controller(cluster, cluster, quick_options());
    for (double now_s = 965; now_s < 1000; ++now_s) controller.pass(now_s);
    ck_assert_int_eq(cluster.seen.jobs.at(0).restarts, 1);
    for (const Event &event : cluster.said) ck_assert(event.kind != EventKind::called_off);
}

// F21, I9: slurmctld, killed, forgot that a job has ended, which the event log knows.
TEST(a_job_whose_end_was_forgotten_does_not_run_again) {
    class Forgot final : public Agreeing {
      public:
        RpcStatus requeue_if_gone(uint32_t) override { return ++requeued, RpcStatus::ok; }
        RpcStatus complete_if_gone(uint32_t) override {
            seen.jobs.at(0).phase = JobPhase::finished;
            seen.jobs.at(0).completed = true;
            return ++completed, RpcStatus::ok;
        }
        int requeued = 0, completed = 0;
    };
    // What the controller then writes into the event log; the answer: requeued, completed.
    const auto after = [](const std::string &event_log, std::string *now_logged = nullptr) {
        Forgot cluster;
        JobRecord job{.id = 7, .phase = JobPhase::running, .start_s = 900};
        job.admin_comment = ringrt::records::format_into("", {.gpus_min = 1, .gpus_max = 8});
        cluster.seen.jobs = {job};
        Controller controller(cluster, cluster, quick_options());
        controller.remember(past_of(event_log));
        for (double now_s = 1000; now_s < 1020; ++now_s) controller.pass(now_s);
        for (const Event &event : cluster.said)
            if (now_logged) *now_logged += to_json(event) + "\n";
        return std::pair(cluster.requeued > 0, cluster.completed > 0);
    };
    const auto ended = [](double time_s, std::string text, EventKind kind = EventKind::ended) {
        return to_json({.time_s = time_s, .job_id = 7, .kind = kind, .text = text}) + "\n";
    };
    const std::string began = ended(995, "", EventKind::released);
    std::string logged;
    ck_assert(after("") == std::pair(true, false));
    ck_assert(after(ended(990, "has ended"), &logged) == std::pair(false, true));
    ck_assert(after(logged) == std::pair(false, true));  // slurmctld killed once more
    ck_assert(after(ended(990, "has ended while it was asked to resize")) ==
              std::pair(false, true));
    ck_assert(after(ended(990, "was cancelled")) == std::pair(false, false));
    ck_assert(after(ended(990, "was ended by Slurm: its time was up, or a node failed")) ==
              std::pair(false, false));
    ck_assert(after(ended(990, "has failed with exit code 3, signal 0 while it was asked",
                          EventKind::lost)) == std::pair(false, false));
    ck_assert(after(ended(890, "has ended")) == std::pair(true, false));  // an earlier run
    ck_assert(after(ended(990, "has ended") + began) == std::pair(true, false));
}

// For it would be completed anew where slurmctld has forgotten it.
TEST(only_a_completed_job_is_said_to_have_ended) {
    const auto said_of = [](JobRecord end, bool asked) {
        Agreeing cluster;
        Controller controller(cluster, cluster, quick_options());
        ringrt::records::Intent intent{.gpus_min = 1, .gpus_max = 8, .gpus = 4, .run = 0};
        intent.state = asked ? IntentState::asked : IntentState::running;
        if (asked) intent.target = 8, intent.asked_s = 999;
        JobRecord job{.id = 7, .phase = JobPhase::running, .start_s = 900, .gpus_requested = 4};
        job.admin_comment = end.admin_comment = ringrt::records::format_into("", intent);
        cluster.seen.jobs = {job};
        controller.pass(1000);
        end.id = 7;
        end.phase = JobPhase::finished;
        cluster.seen.jobs = {end};
        controller.pass(1001);
        return cluster.said.back();
    };
    const auto text_of = [&](JobRecord end, bool asked) { return said_of(end, asked).text; };
    const JobRecord completed{.completed = true}, cancelled{.cancelled = true},
        failed{.failed = true, .exit_code = 3}, timed_out{};
    EXPECT_TEXT(text_of(completed, false), "has ended");
    EXPECT_TEXT(text_of(completed, true), "has ended while it was asked to resize");
    EXPECT_TEXT(text_of(cancelled, false), "was cancelled");
    EXPECT_TEXT(text_of(failed, false), "has failed with exit code 3, signal 0");
    EXPECT_TEXT(text_of(timed_out, false), "was ended by Slurm: its time was up, or a node failed");
    ck_assert(said_of(failed, true).kind == EventKind::lost);
    ck_assert(said_of(completed, true).kind == EventKind::ended);
}

// What Slurm's listing throws ends one pass, and is said.
TEST(a_pass_that_throws_is_said_and_survived) {
    class Throwing final : public Agreeing {
      public:
        RpcStatus observe(Observation &) override { throw std::runtime_error("no such luck"); }
    } cluster;
    Controller controller(cluster, cluster, quick_options());
    ck_assert(controller.pass(1000) > 1020);
    ck_assert_uint_eq(controller.statistics().exceptions, 1);
    ck_assert_int_eq(static_cast<int>(cluster.said.size()), 1);
    ck_assert(cluster.said[0].text.find("no such luck") != std::string::npos);
}

// Its user's, or one after a node was DOWN for a moment: who knows what is left of it.
TEST(a_requeue_that_nobody_asked_for_waits_for_what_is_left) {
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
    // A node is lost: what is left of the job on the other one may live on for a while.
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

// I1: with the old run still on the node, the new one's srun crashed slurmctld (the soak). A job
// runs on the only node, something happens to it, and it runs again no sooner than what is left is
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

// From Slurm 23.11 on `scontrol reconfigure` is a new slurmctld that has forgotten nothing.
TEST(a_reconfigured_slurmctld_makes_no_job_wait) {
    // How long the job takes to run again.
    const auto gap_s = [](bool goes_on, double silent_s, bool one_is_down) {
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
        Past past{.goes_on = goes_on};
        if (silent_s > 0) past.under_way_s[id] = world.cluster.now_s() - silent_s;
        world.controller->remember(past);
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

TEST(a_job_waits_for_what_is_left_on_a_node_that_comes_back) {
    // Just before what is left would be taken for gone; and much later, with nothing else free.
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

TEST(a_run_that_nobody_saw_raises_a_new_doubt) {
    // Its node is lost and back before the next look; that look sees it completing, or waiting.
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

// Rigid jobs take all that a shrinking job leaves for the moment, and so its place: that must not
// keep the others from shrinking, which is what would let it run again.
TEST(jobs_that_lost_their_place_hold_up_nobody) {
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

TEST(a_failed_launch_is_forgiven_three_times) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
    for (int failure = 1; failure <= 3; ++failure) {
        ck_assert(world.run_until(runs, 60) >= 0);
        world.run(5);
        world.cluster.fail_launch(id);
        const double took = world.run_until(runs, 60);
        ck_assert_msg(took >= 15, "after failure %d: %g s", failure, took);  // what is left may end
        ck_assert_int_eq(world.cluster.count(EventKind::launch_failed), failure);
    }
    world.run(5);
    world.cluster.fail_launch(id);
    ck_assert(world.run_until(runs, 200) < 0);
    ck_assert_int_eq(world.cluster.count(EventKind::launch_failed), 4);
    world.cluster.hold(id, false);  // an administrator has looked
    ck_assert(world.run_until(runs, 60) >= 0);
    expect_all_finish(world, 3000, "failed launches");
}

// A size that no node can satisfy (CPUs per task, a reservation, a feature): Slurm itself holds the
// job, and no user could release it.
TEST(a_size_that_fits_no_node_ends_the_resize_and_not_the_job) {
    World world({4, 4});
    const uint32_t rigid = world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(30);
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 1);
    world.cluster.gpus_placeable = 2;
    const auto is_back = [&] {
        return world.cluster.job(rigid).phase == JobPhase::finished &&
               world.cluster.count(EventKind::downsized) > 0 &&
               world.cluster.job(id).phase == JobPhase::running;
    };
    const double took = world.run_until(is_back, 120);
    ck_assert_msg(took >= 0, "%s", world.cluster.story(id).c_str());
    world.run(600);  // within the ceiling it is not asked for more than half of what was refused
    ck_assert_msg(world.cluster.count(EventKind::downsized) == 1, "%s",
                  world.cluster.story(id).c_str());
    expect_all_finish(world, 5000, "BadConstraints");
}

TEST(a_job_that_never_ran_gets_less_until_it_can_be_placed) {
    World world({4, 4});
    world.cluster.gpus_placeable = 2;
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 300});
    const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
    ck_assert_msg(world.run_until(runs, 60) >= 0, "%s", world.cluster.story().c_str());
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 2);
    expect_all_finish(world, 3000, "BadConstraints");
}

TEST(a_job_that_fits_no_node_even_at_its_smallest_is_tried_again) {
    World world({4, 4});
    world.cluster.gpus_placeable = 0;
    (void)world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run(1000);
    ck_assert_int_le(world.cluster.count(EventKind::downsized), 8);  // and Slurm is not flooded
    world.cluster.gpus_placeable = 8;
    expect_all_finish(world, 3000, "BadConstraints");
}

// Nodes of 4 GPUs and 16 CPUs, 8 CPUs per task: two tasks are as many as a node can take.
TEST(jobs_ask_for_nodes_that_have_their_cpus) {
    World world({4, 4, 4, 4});
    world.cluster.node_cpus = 16;
    const uint32_t id = world.cluster.submit_malleable(1, 16, {.steps = 3000});
    world.cluster.set_cpus_per_task(id, 8);
    const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
    ck_assert(world.run_until(runs, 60) >= 0);
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 8);  // sixteen CPU pairs for 8 tasks
    ck_assert_int_eq(world.cluster.job(id).nodes_requested, 4);
    ck_assert_int_eq(world.cluster.count(EventKind::downsized), 0);
}

// A lent place in the queue is for the one restart: a user must not get another out of it.
TEST(a_lent_place_in_the_queue_is_given_back) {
    World world({4, 4});
    const uint32_t rigid = world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.cluster.set_nice(id, 500);
    world.run(30);
    const auto has_lent = [&] { return world.cluster.job(id).nice < 500; };
    ck_assert(world.run_until(has_lent, 120) >= 0);
    const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
    ck_assert(world.run_until(runs, 60) >= 0);
    world.run(2);
    ck_assert_int_eq(world.cluster.job(id).nice, 500);
    ck_assert(world.cluster.job(rigid).phase == JobPhase::finished);
    expect_all_finish(world, 3000, "nice");
}

TEST(a_job_that_requeues_itself_before_its_start_is_noted_gives_the_place_back) {
    World world({4, 4});
    (void)world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(30);
    const auto has_lent = [&] { return world.cluster.job(id).nice < 0; };
    ck_assert(world.run_until(has_lent, 120) >= 0);
    while (world.cluster.job(id).phase != JobPhase::running) world.cluster.advance(0.25);
    world.cluster.requeue(id);
    ck_assert_int_lt(world.cluster.job(id).nice, 0);
    world.run(3);
    ck_assert(world.cluster.job(id).phase == JobPhase::pending);
    ck_assert_msg(world.cluster.job(id).nice == 0, "%s", world.cluster.story(id).c_str());
    expect_all_finish(world, 3000, "nice");
    world.cluster.advance(1);
}

TEST(a_job_that_its_user_holds_gives_the_place_back) {
    World world({4, 4});
    (void)world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    world.run(30);
    const auto has_lent = [&] { return world.cluster.job(id).nice < 0; };
    ck_assert(world.run_until(has_lent, 120) >= 0);
    world.cluster.hold(id, true);
    world.run(5);
    ck_assert_msg(world.cluster.job(id).nice == 0, "%s", world.cluster.story(id).c_str());
    world.cluster.hold(id, false);
    expect_all_finish(world, 3000, "nice");
}

// A site's job_modify may refuse every change: that is said now and then, and Slurm is not flooded.
TEST(a_record_that_is_refused_is_not_offered_in_each_pass) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 100000});
    world.cluster.faults.refused = 1;
    world.run(120);
    ck_assert(world.cluster.job(a).phase == JobPhase::running);
    ck_assert_int_le(world.cluster.count(EventKind::refused), 10);
    world.cluster.faults.refused = 0;
    world.run(70);
    ck_assert(world.cluster.intent(a).state == IntentState::running);
}

// Out of a draining node a job must not be asked: it could not come back there, nor a rigid job use
// what it gives.
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

// A user who may run two jobs: the third would start while one is away, and that one wait.
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
        for (const Wish &wish : decide(seen, malleable_jobs(seen), {}, world.options).wishes)
            ck_assert(wish.may_lose_place == (user == 7));
    }
}

// In a full queue Slurm's jobs are seen seconds late.
TEST(a_start_seen_late_is_no_refusal) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run_until([&] { return world.cluster.intent(a).state == IntentState::released; }, 5);
    ck_assert(world.cluster.job(a).phase == JobPhase::pending);
    world.cluster.freeze(a);
    ck_assert(world.run_until([&] { return world.cluster.job(a).phase == JobPhase::running; }, 5) >=
              0);
    world.run(20);  // it is refitted as if it waited
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

TEST(a_size_over_a_limit_is_halved_until_it_is_allowed) {
    World world({4, 4});
    world.cluster.gpus_allowed = 2;
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 60});
    ck_assert(world.run_until([&] { return world.cluster.job(a).phase == JobPhase::running; }, 9) >=
              0);
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 2);
    expect_all_finish(world, 500, "limit");
    ck_assert_int_eq(world.cluster.count(EventKind::refused), 2);
}

namespace {

// What never changes: 50 running malleable jobs, 20 that wait, 100 rigid ones.
class StillCluster : public Cluster, public EventSink {
  public:
    StillCluster() {
        for (int i = 0; i < 60; ++i)
            seen_.nodes.push_back({.name = "n" + std::to_string(i), .gpus = 4});
        for (int i = 0; i < 170; ++i) {
            JobRecord r{.id = static_cast<uint32_t>(i + 1),
                        .submit_s = 1000.0 + i,
                        .priority = 1,
                        .gpus_requested = 1 + i % 4};
            ringrt::records::Intent intent{.gpus_min = 1, .gpus_max = 8};
            if (i < 50) {
                r.phase = JobPhase::running;
                r.gpus_requested = 4;
                r.gpus_on_node = {{i, 4}, {1000, 4}, {-1, 4}};
                intent.state = IntentState::running;
                intent.gpus = 4;
            } else {
                r.pending_reason = PendingReason::resources;
            }
            if (i < 70) r.admin_comment = format_into("", intent);
            r.comment =
                "ringrt/1 run=0 gpus=4 step=100 step_ms=100 left=1000 ckpt=50 up=1 "
                "speed=1:300,2:170,4:100";
            seen_.jobs.push_back(r);
        }
    }
    RpcStatus observe(Observation &out) override { return out = seen_, RpcStatus::ok; }
    RpcStatus write_intent(uint32_t, const std::string &, std::optional<int64_t>) override {
        return RpcStatus::busy;
    }
    RpcStatus update_pending(uint32_t, const PendingUpdate &) override { return RpcStatus::busy; }
    RpcStatus signal_steps(uint32_t, int) override { return RpcStatus::busy; }
    void write(const Event &) override { ++said; }
    long said = 0;

  private:
    Observation seen_;
};

long resident_kib() {
    long pages = 0, resident = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
    return resident * 4;
}

}  // namespace

// Faults F53, on a tenth of the passes; the cluster refuses everything, so that every pass tries
// again.
TEST(ten_thousand_passes_need_no_more_memory) {
    StillCluster cluster;
    Controller controller(cluster, cluster, quick_options());
    double now_s = 2000;
    for (int i = 0; i < 1000; ++i) now_s = controller.pass(now_s);
    const long before = resident_kib(), said = cluster.said;
    for (int i = 0; i < 10000; ++i) now_s = controller.pass(now_s);
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // those keep freed memory aside
    ck_assert_msg(resident_kib() - before < 512, "%ld KiB more", resident_kib() - before);
#endif
    (void)before;
    ck_assert_int_eq(cluster.said, said);
    ck_assert_uint_eq(controller.statistics().exceptions, 0);
}

// ---- every state x every event ----------------------------------------------------------------

namespace {

struct State {
    const char *name;
    bool (*reached)(const FakeCluster &, uint32_t id);
};

bool is_in(const FakeCluster &c, uint32_t id, JobPhase phase, IntentState state) {
    return c.job(id).phase == phase && c.intent(id).state == state;
}

const State kStates[] = {
    {"queued", [](const FakeCluster &c,
                  uint32_t id) { return is_in(c, id, JobPhase::pending, IntentState::queued); }},
    {"released",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, JobPhase::pending, IntentState::released);
     }},
    {"started", [](const FakeCluster &c,
                   uint32_t id) { return is_in(c, id, JobPhase::running, IntentState::released); }},
    {"running",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, JobPhase::running, IntentState::running) &&
                c.intent(id).base_step >= 0;
     }},
    {"asked", [](const FakeCluster &c,
                 uint32_t id) { return is_in(c, id, JobPhase::running, IntentState::asked); }},
    {"leaving", [](const FakeCluster &c,
                   uint32_t id) { return is_in(c, id, JobPhase::completing, IntentState::asked); }},
    {"left", [](const FakeCluster &c,
                uint32_t id) { return is_in(c, id, JobPhase::pending, IntentState::asked); }},
    {"resized",
     [](const FakeCluster &c, uint32_t id) {
         return is_in(c, id, JobPhase::running, IntentState::running) && c.intent(id).resizes > 0;
     }},
};

struct Happening {
    const char *name;
    bool ends_job;
    void (*happen)(World &, uint32_t id);
};

void next(World &world, RpcStatus answer) { world.cluster.next_answer = answer; }

const Happening kHappenings[] = {
    {"nothing", false, [](World &, uint32_t) {}},
    {"again", false, [](World &w, uint32_t) { next(w, RpcStatus::busy); }},
    {"gone", false, [](World &w, uint32_t) { next(w, RpcStatus::not_found); }},
    {"refused", false, [](World &w, uint32_t) { next(w, RpcStatus::refused); }},
    {"unreachable", false, [](World &w, uint32_t) { next(w, RpcStatus::unreachable); }},
    {"answers lost for a while", false,
     [](World &w, uint32_t) {
         w.cluster.faults.lost_answer = 1;
         w.run(3);
         w.cluster.faults.lost_answer = 0;
     }},
    {"cancel", true, [](World &w, uint32_t id) { w.cluster.cancel(id); }},
    {"hold", false,
     [](World &w, uint32_t id) {
         w.cluster.hold(id, true);
         w.run(200);
         w.cluster.hold(id, false);
     }},
    {"suspend", false,
     [](World &w, uint32_t id) {
         w.cluster.suspend(id, true);
         w.run(60);
         w.cluster.suspend(id, false);
     }},
    {"user's requeue", false, [](World &w, uint32_t id) { w.cluster.requeue(id); }},
    {"user's start time", false,
     [](World &w, uint32_t id) {
         w.cluster.set_begin(id, w.cluster.now_s() + 1000);
         w.run(100);
     }},
    {"user's time limit", false, [](World &w, uint32_t id) { w.cluster.set_time_limit(id, 7200); }},
    {"node lost", false,
     [](World &w, uint32_t) {
         w.cluster.lose_node(0);
         w.run(30);
         w.return_node(0);
     }},
    {"controller restarts", false, [](World &w, uint32_t) { w.restart(); }},
    {"kill, 1 s lost", false, [](World &w, uint32_t) { w.kill(1); }},
    {"kill, 3 s lost", false, [](World &w, uint32_t) { w.kill(3); }},
    {"kill, 5 s lost", false, [](World &w, uint32_t) { w.kill(5); }},
    {"kill twice", false,
     [](World &w, uint32_t) {
         w.kill(2);
         w.run(1);
         w.kill(2);
     }},
    {"away for 3 minutes", false, [](World &w, uint32_t) { w.cluster.advance(180); }},
    {"rigid job arrives", false, [](World &w, uint32_t) { w.cluster.submit_rigid(4, 30, 10); }},
    {"big rigid job arrives", false,
     [](World &w, uint32_t) { w.cluster.submit_rigid(8, 30, 10, 2); }},
};

void try_one(const State &state, const Happening &happening) {
    const std::string where = std::string(state.name) + " x " + happening.name;
    World world({4, 4});
    Program program{.steps = 400};
    // The state `released` lasts only where its GPUs are not free: a rigid job is in the way.
    const bool crowded = std::string_view(state.name) == "released";
    if (crowded) world.cluster.submit_rigid(8, 40, 10, 2);
    if (crowded) world.run(1);
    const uint32_t id = world.cluster.submit_malleable(1, 8, program);
    for (const State *s = kStates; s != std::end(kStates); ++s) {
        if (s->name == std::string_view("asked")) world.cluster.submit_malleable(1, 8, program);
        if (s->name != std::string_view(state.name) && s->name != std::string_view("running"))
            continue;
        if (crowded && s->name == std::string_view("running")) continue;
        const bool first =
            s->name == std::string_view("queued") || s->name == std::string_view("started");
        const auto reached = [&] { return s->reached(world.cluster, id); };
        if (first && s->name == std::string_view("started")) {
            while (!reached() && world.cluster.now_s() < world.cluster.job(id).submit_s + 20)
                world.tick();
        } else {
            ck_assert_msg(world.run_until(reached, 120) >= 0, "%s: not reached\n%s", where.c_str(),
                          world.cluster.story().c_str());
        }
        if (s->name == std::string_view(state.name)) break;
    }
    happening.happen(world, id);
    expect_all_finish(world, 6000, where.c_str());
    ck_assert_msg(happening.ends_job || world.cluster.completed(id), "%s\n%s", where.c_str(),
                  world.cluster.story().c_str());
    ck_assert_msg(world.cluster.lost_steps(id) == 0, "%s: lost steps", where.c_str());
}

}  // namespace

TEST(every_state_and_every_event) {
    for (const State &state : kStates)
        for (const Happening &happening : kHappenings) try_one(state, happening);
}

// ---- a random walk ----------------------------------------------------------------------------

namespace {

void disturb(World &world, std::mt19937_64 &random, const std::vector<uint32_t> &jobs, bool kills) {
    const uint32_t id = jobs[random() % jobs.size()];
    switch (random() % 16) {
        case 0:
            if (random() % 4 == 0) world.cluster.cancel(id);
            break;
        case 1:
            world.cluster.hold(id, true);
            break;
        case 2:
            world.cluster.hold(id, false);
            break;
        case 3:
            world.cluster.suspend(id, true);
            break;
        case 4:
            world.cluster.suspend(id, false);
            break;
        case 5:
            world.cluster.requeue(id);
            break;
        case 6:
            world.cluster.lose_node(static_cast<int>(random() % 2));
            break;
        case 7:
        case 8:
            world.return_node(0);
            world.return_node(1);
            break;
        case 9:
            world.restart();
            break;
        case 10:
        case 11:
            if (kills) world.kill(static_cast<double>(random() % 6));
            break;
        case 12:
            world.cluster.advance(static_cast<double>(random() % 40));
            break;
        case 13:
            world.cluster.submit_rigid(1 + static_cast<int>(random() % 4), 20,
                                       static_cast<double>(random() % 3));
            break;
        default:
            break;
    }
}

void walk(uint64_t seed) {
    std::mt19937_64 random(seed);
    World world({4, 4, 2, 8}, quick_options(), seed);
    world.cluster.faults = {
        .again = 0.1, .unreachable = 0.05, .lost_answer = 0.05, .refused = 0.03};
    std::vector<uint32_t> jobs;
    for (int n = 3 + static_cast<int>(random() % 4); n > 0; --n) {
        const int min = 1 << (random() % 2);
        Program program{.steps = 50 + static_cast<double>(random() % 300)};
        if (random() % 4 == 0)
            program = {.steps = 2 + static_cast<double>(random() % 10), .step_s = 40};
        program.telemetry_s = random() % 4 ? 1 + static_cast<double>(random() % 8) : 0;
        program.heeds_signal = random() % 5 != 0;
        program.has_handler_late = random() % 3 == 0;
        jobs.push_back(world.cluster.submit_malleable(min, min << (random() % 4), program));
        world.run(static_cast<double>(random() % 20));
        for (int k = 0; k < 4; ++k) {
            disturb(world, random, jobs, true);
            world.run(static_cast<double>(random() % 60) / 4);
        }
    }
    world.cluster.faults = {};
    for (const uint32_t id : jobs) {
        world.cluster.hold(id, false);
        world.cluster.suspend(id, false);
    }
    world.return_node(0);
    world.return_node(1);
    const std::string where = "seed " + std::to_string(seed);
    expect_all_finish(world, 8000, where.c_str());
    for (const uint32_t id : jobs)
        ck_assert_msg(world.cluster.lost_steps(id) == 0, "%s: lost steps", where.c_str());
}

}  // namespace

TEST(random_walks) {
    const char *given = std::getenv("RINGRT_TEST_SEEDS");
    const uint64_t seeds = given ? std::strtoull(given, nullptr, 10) : 1000;
    for (uint64_t seed = 1; seed <= seeds; ++seed) walk(seed);
}

// Amdahl's default says that eight GPUs are 4.7 times as fast as one; a job whose gradients take
// most of the step plans otherwise.
TEST(planned_speeds_stand_in_for_sizes_not_yet_measured) {
    ringrt::records::Telemetry telemetry{.gpus = 1, .step = 50, .step_ms = 100};
    const auto before = speed_of(telemetry);
    ck_assert_double_eq_tol(before.step_ms(8), 100 * (0.9 / 8 + 0.1), 1e-6);
    telemetry.planned = {{{1, 90}, {2, 88}, {4, 84}, {8, 83}}};  // ten milliseconds are not planned
    telemetry.planned_sizes = 4;
    const auto planned = speed_of(telemetry);
    ck_assert_double_eq_tol(planned.step_ms(1), 100, 3);
    ck_assert_double_eq_tol(planned.step_ms(8), 92, 5);
    telemetry.samples = 3;  // what is measured counts for more
    telemetry.speed[0] = {1, 100};
    telemetry.speed[1] = {4, 30};
    telemetry.speed[2] = {8, 18};
    ck_assert_double_eq_tol(speed_of(telemetry).step_ms(8), 18, 3);
    telemetry.gpus = 16;  // the present size is not among the planned: no scale, no word
    telemetry.step_ms = 12;
    ck_assert_double_le(speed_of(telemetry).step_ms(16), 13);
}

int main() {
    return ringrt::test::run_all(
        "controller",
        {planned_speeds_stand_in_for_sizes_not_yet_measured,
         a_lone_job_starts_at_its_best_size,
         a_second_job_makes_the_first_shrink_and_grow_again,
         a_job_comes_back_as_soon_as_its_credential_allows,
         borrowed_gpus_are_those_above_min,
         an_event_says_whose_job_it_is,
         every_job_is_handed_back,
         a_rigid_job_gets_borrowed_gpus_back,
         what_is_left_is_learned_from_the_loss,
         what_a_restart_costs_is_learned_for_each_job,
         a_queue_of_rigid_jobs_gets_its_gpus,
         reclaim_can_depend_on_the_priority,
         a_job_that_ignores_the_signal_goes_on,
         a_job_without_telemetry_is_asked_after_it_has_settled,
         no_second_resize_before_there_is_progress,
         the_time_limit_counts_over_all_runs,
         a_time_limit_that_slurm_chose_counts_over_all_runs,
         an_administrators_time_limit_for_a_running_job_stands,
         a_suspension_counts_for_no_time_limit,
         observe_says_and_touches_nothing,
         off_does_nothing,
         five_hundred_jobs_shrink_a_few_at_a_time,
         ten_thousand_passes_need_no_more_memory,
         idle_asks_once_a_second_at_most,
         a_restart_that_nobody_saw_is_noticed,
         a_run_that_nobody_saw_is_noticed,
         a_released_job_takes_what_is_left,
         a_start_time_set_after_the_release_stands,
         a_size_that_somebody_else_set_stands,
         a_running_job_without_a_record_is_not_said_to_have_ended,
         the_breaker_pauses_all_resizes,
         the_breaker_counts_jobs_and_not_failures,
         a_quiet_queue_is_not_gone_through_again,
         a_job_taken_down_by_a_forgotten_requeue_is_brought_back,
         a_forgotten_request_is_known_from_the_event_log,
         a_resize_of_a_job_that_has_left_is_not_called_off,
         a_job_whose_end_was_forgotten_does_not_run_again,
         only_a_completed_job_is_said_to_have_ended,
         a_pass_that_throws_is_said_and_survived,
         a_requeue_that_nobody_asked_for_waits_for_what_is_left,
         a_job_whose_node_was_lost_unseen_is_not_started_beside_itself,
         a_job_waits_for_what_is_left_on_a_node_that_comes_back,
         a_reconfigured_slurmctld_makes_no_job_wait,
         a_run_that_nobody_saw_raises_a_new_doubt,
         a_failed_launch_is_forgiven_three_times,
         a_size_that_fits_no_node_ends_the_resize_and_not_the_job,
         a_job_that_never_ran_gets_less_until_it_can_be_placed,
         a_job_that_fits_no_node_even_at_its_smallest_is_tried_again,
         a_lent_place_in_the_queue_is_given_back,
         a_job_that_requeues_itself_before_its_start_is_noted_gives_the_place_back,
         a_job_that_its_user_holds_gives_the_place_back,
         jobs_ask_for_nodes_that_have_their_cpus,
         jobs_that_lost_their_place_hold_up_nobody,
         a_record_that_is_refused_is_not_offered_in_each_pass,
         a_job_on_a_draining_node_is_left_alone,
         a_job_whose_user_is_at_a_limit_is_not_asked,
         a_start_seen_late_is_no_refusal,
         a_requeue_seen_late_is_not_asked_to_resize,
         a_size_over_a_limit_is_halved_until_it_is_allowed,
         slurm_away_is_said_once_and_survived,
         every_state_and_every_event,
         random_walks},
        600);
}
