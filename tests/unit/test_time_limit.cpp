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

// Slurm chooses a limit at each start, and shows another one while the job waits.
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

int main() {
    return ringrt::test::run_all(
        "time_limit",
        {the_time_limit_counts_over_all_runs, a_time_limit_that_slurm_chose_counts_over_all_runs,
         an_administrators_time_limit_for_a_running_job_stands,
         a_suspension_counts_for_no_time_limit},
        600);
}
