// SPDX-License-Identifier: BSD-3-Clause
// A job that fails soon after a resize returns to its previous size and does not get that size
// again.
#include <algorithm>
#include <csignal>

#include "slurm_plugin/controller/probation.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::Intent;
using ringrt::records::IntentState;

namespace {

// Ran with 2, restarted with 4, and failed after 5 s.
JobRecord failed_with_4() {
    JobRecord job{.id = 7,
                  .phase = JobPhase::finished,
                  .start_s = 990,
                  .end_s = 995,
                  .restarts = 1,
                  .gpus_requested = 4};
    job.end = End{.how = End::How::failed, .exit_code = 1};
    set_intent(job, {.gpus_min = 1,
                     .gpus_max = 8,
                     .state = IntentState::running,
                     .gpus = 4,
                     .run = 1,
                     .good = 2});
    return job;
}

template <typename Change>
std::optional<Probation> after(Change change) {
    JobRecord job = failed_with_4();
    change(job);
    return probation_of(job);
}

struct Failing {
    World world{{4, 4}};
    uint32_t id = 0;

    // Begins with 2 GPUs while rigid jobs run. Until 60 s after slurmctld's start each failed start
    // would be retried (recovery.h).
    explicit Failing(const Program &program, double rigid_s = 70) {
        for (const int gpus : {4, 2}) world.cluster.submit_rigid(gpus, rigid_s, 10);
        world.run(2);
        id = world.cluster.submit_malleable(1, 8, program);
        const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
        ck_assert(world.run_until(runs, 60) >= 0);
        ck_assert_int_eq(world.cluster.job(id).gpus_requested, 2);
    }
    [[nodiscard]] int asked_for(int gpus) const {
        return static_cast<int>(std::ranges::count_if(world.cluster.events, [&](const Event &e) {
            return e.kind == EventKind::asked && e.to == gpus;
        }));
    }
};

}  // namespace

TEST(the_first_failure_soon_after_a_resize_counts) {
    const Probation expected{.good = 2, .bad = 4};
    ck_assert(after([](JobRecord &) {}) == expected);
    ck_assert(after([](JobRecord &job) {
                  job.end = End{.how = End::How::failed, .signal = SIGSEGV};
              }) == expected);
    // Its start is not recorded yet.
    ck_assert(after([](JobRecord &job) {
                  job.intent->state = IntentState::released;
                  job.intent->good = 0;
                  job.intent->gpus = 2;
                  job.intent->target = 4;
              }) == expected);
    // It reports steps, and had reported none when it failed after ten minutes.
    const auto late = [](JobRecord &job) { job.end_s = 1590; };
    ck_assert(!after(late));
    ck_assert(after([&](JobRecord &job) {
                  late(job);
                  job.telemetry = {.run = 0};
              }) == expected);
    const auto told = [&](uint64_t step) {
        return after([&](JobRecord &job) {
            late(job);
            job.intent->base_step = 100;
            job.telemetry = {.run = 1};
            job.telemetry->step = step;
        });
    };
    ck_assert(told(100) == expected);
    ck_assert(!told(101));
}

TEST(any_other_end_stands) {
    ck_assert(!after([](JobRecord &job) { job.intent->good = 0; }));  // it ran at no other size
    ck_assert(!after([](JobRecord &job) { job.intent->good = 4; }));
    ck_assert(!after([](JobRecord &job) { job.intent->run = 0; }));
    ck_assert(!after([](JobRecord &job) { job.intent->gpus_max = 2; }));  // off its ladder
    ck_assert(!after([](JobRecord &job) { job.intent->gpus_min = 4; }));
    ck_assert(!after([](JobRecord &job) { job.intent->state = IntentState::asked; }));
    ck_assert(!after([](JobRecord &job) { job.phase = JobPhase::pending; }));
    ck_assert(!after([](JobRecord &job) { job.intent.reset(); }));
    for (const End::How how : {End::How::completed, End::How::cancelled, End::How::by_slurm})
        ck_assert(!after([&](JobRecord &job) { job.end->how = how; }));
    for (const int signal : {SIGTERM, SIGKILL, SIGINT})  // sent by a user or administrator
        ck_assert(!after([&](JobRecord &job) { job.end->signal = signal; }));
}

TEST(a_failed_job_returns_and_stays_below_that_size) {
    Failing t({.steps = 200, .fails_from = 4});
    World &world = t.world;
    const auto failed = [&] { return world.cluster.intent(t.id).bad == 8; };
    ck_assert_msg(world.run_until(failed, 120) >= 0, "%s", world.cluster.story().c_str());
    world.restart();
    expect_all_finish(world, 1000, "fails with more than 2");
    ck_assert(world.cluster.completed(t.id));
    ck_assert_msg(t.asked_for(8) == 1 && t.asked_for(4) <= 1, "%s", world.cluster.story().c_str());
    ck_assert_int_eq(world.cluster.intent(t.id).gpus_max, 2);
    ck_assert(world.cluster.lost_steps(t.id) == 0);
}

// slurmctld may have caused the failure, so the job is first retried at the same size, and returns
// to the old size after that.
TEST(a_start_that_fails_while_slurmctld_is_new_is_first_retried) {
    Failing t({.steps = 200, .fails_from = 4}, 20);
    expect_all_finish(t.world, 1000, "fails with more than 2, twice");
    ck_assert_msg(t.world.cluster.completed(t.id), "%s", t.world.cluster.story().c_str());
    ck_assert_int_eq(t.world.cluster.intent(t.id).bad, 8);
}

// As when a batch does not fit into fewer GPUs.
TEST(a_job_leaves_a_too_small_size_for_the_larger_one) {
    World world({4, 4});
    const uint32_t id =
        world.cluster.submit_malleable(1, 8, {.steps = 400, .fails_from = 1, .fails_to = 4});
    const auto runs_with_8 = [&] {
        return world.cluster.job(id).phase == JobPhase::running &&
               world.cluster.job(id).gpus_requested == 8;
    };
    ck_assert(world.run_until(runs_with_8, 60) >= 0);
    world.run(70);
    world.cluster.submit_rigid(4, 30, 10);
    expect_all_finish(world, 2000, "fails with less than 8");
    ck_assert_msg(world.cluster.completed(id), "%s", world.cluster.story().c_str());
    ck_assert_int_eq(world.cluster.intent(id).gpus_min, 8);
}

TEST(a_failure_at_the_first_size_stands) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 400, .fails_from = 1});
    expect_all_finish(world, 300, "broken");
    ck_assert_int_eq(world.cluster.job(id).restarts, 0);
    ck_assert(world.cluster.job(id).end->how == End::How::failed);
}

TEST(a_broken_program_does_not_run_forever) {
    Failing t({.steps = 4000});
    World &world = t.world;
    world.run(10);
    world.cluster.break_program(t.id);
    expect_all_finish(world, 1000, "broken since");
    ck_assert(world.cluster.job(t.id).end->how == End::How::failed);
    ck_assert_msg(world.cluster.job(t.id).restarts <= 4, "%s", world.cluster.story().c_str());
}

TEST(a_failure_long_ago_stands) {
    const auto requeues = [](double begun_s, double now_s) {
        Agreeing cluster;
        Controller controller(cluster, cluster, quick_options());
        controller.restore({}, begun_s);
        cluster.seen.jobs = {failed_with_4()};
        controller.pass(now_s);
        return cluster.requeued_ended;
    };
    ck_assert_int_eq(requeues(900, 996), 1);
    ck_assert_int_eq(requeues(900, 1060), 0);
    ck_assert_int_eq(requeues(1010, 1011), 0);  // before slurmctld's start
}

TEST(a_failed_size_is_explained) {
    Failing t({.steps = 2000, .fails_from = 4});
    World &world = t.world;
    const auto back = [&] {
        return world.cluster.intent(t.id).bad > 0 && !world.cluster.intent(t.id).good &&
               world.cluster.job(t.id).phase == JobPhase::running &&
               world.cluster.intent(t.id).state == IntentState::running;
    };
    ck_assert(world.run_until(back, 300) >= 0);
    world.run(20);
    const auto all = world.controller->explanations();
    ck_assert(all && !all->empty());
    const std::string &text = all->at(0).text;
    ck_assert_msg(
        text.ends_with("; no more than 2 GPUs because it failed soon after its restart with 8"),
        "%s", text.c_str());
    const auto told = std::ranges::find(world.cluster.events, Outcome::failed, &Event::outcome);
    ck_assert(told != world.cluster.events.end());
    ck_assert(told->kind == EventKind::requeued && told->from == 8 && told->to == 2);
    EXPECT_TEXT(
        told->text,
        "failed with exit code 1 soon after its restart with 8 GPUs: requeued to restart with 2");
    ck_assert_uint_eq(world.controller->statistics().resizes.lost, 1);
}

int main() { return ringrt::test::run_all("probation"); }
