// SPDX-License-Identifier: BSD-3-Clause
// A time limit counts over all runs of a job.
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;

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

// Slurm sets a limit at each start, and shows another one while the job is pending.
TEST(a_time_limit_that_slurm_chose_counts_over_all_runs) {
    for (const std::optional<int64_t> most_s :
         {std::optional<int64_t>{}, std::optional<int64_t>{6000}, std::optional<int64_t>{600}}) {
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
                      "most %lld: %g s", static_cast<long long>(most_s.value_or(-1)),
                      world.cluster.run_time_s(a));
    }
}

TEST(an_administrators_time_limit_for_a_running_job_stands) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6});
    world.cluster.leave_time_limit(a, 600, {});
    world.run(40);
    world.cluster.set_time_limit(a, 7200);
    world.run(5);
    world.cluster.submit_malleable(1, 8, {.steps = 300});
    ck_assert(world.run_until([&] { return world.cluster.intent(a).resizes > 0; }, 60) >= 0);
    ck_assert_int_ge(world.cluster.job(a).time_limit_s.value_or(0), 7000);
    ck_assert_int_lt(world.cluster.job(a).time_limit_s.value_or(0), 7200);
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
    ck_assert_int_ge(world.cluster.job(a).time_limit_s.value_or(0), 420);
    ck_assert_int_lt(world.cluster.job(a).time_limit_s.value_or(0), 600);
}

// The limit of its next run, after a requeue that the controller has not asked for.
int64_t limit_after_own_requeue(World &world, uint32_t id) {
    const int restarts = world.cluster.job(id).restarts;
    world.cluster.requeue(id);
    const double back_s = world.run_until(
        [&] {
            return world.cluster.job(id).restarts > restarts &&
                   world.cluster.job(id).phase == JobPhase::running;
        },
        300);
    ck_assert_msg(back_s >= 0, "%s", world.cluster.story(id).c_str());
    return world.cluster.job(id).time_limit_s.value_or(0);
}

// As on stock Slurm: jobs that requeue themselves before their time is over rely on it.
TEST(a_requeue_of_the_jobs_own_brings_a_fresh_time_limit) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6}, 0, 600);
    world.run(300);
    ck_assert_int_eq(limit_after_own_requeue(world, a), 600);
    world.run(200);
    ck_assert_int_eq(limit_after_own_requeue(world, a), 600);
}

// A requeue restores what resizes have taken of the limit, and the next resize counts from there.
TEST(a_requeue_of_the_jobs_own_after_resizes_brings_the_whole_time_limit) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6}, 0, 600);
    world.run(300);
    world.cluster.submit_malleable(1, 8, {.steps = 30});
    ck_assert(world.run_until([&] { return world.cluster.intent(a).resizes > 0; }, 60) >= 0);
    ck_assert_int_le(world.cluster.job(a).time_limit_s.value_or(0), 300);
    world.run(10);
    ck_assert_int_eq(limit_after_own_requeue(world, a), 600);
    world.run(120);
    const int resizes = world.cluster.intent(a).resizes;
    world.cluster.submit_malleable(1, 8, {.steps = 3000});
    ck_assert(world.run_until([&] { return world.cluster.intent(a).resizes > resizes; }, 60) >= 0);
    const int64_t left_s = world.cluster.job(a).time_limit_s.value_or(0);
    ck_assert_msg(left_s <= 480 && left_s >= 360, "%lld s left", static_cast<long long>(left_s));
}

TEST(a_requeue_of_the_jobs_own_leaves_the_choice_to_slurm) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 1e6});
    world.cluster.leave_time_limit(a, 600, {});
    world.run(300);
    ck_assert_int_eq(limit_after_own_requeue(world, a), 600);
    ck_assert(world.cluster.intent(a).limit_by_slurm);
}

int main() { return ringrt::test::run_all("time_limit", 600); }
