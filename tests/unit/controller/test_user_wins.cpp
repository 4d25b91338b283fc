// SPDX-License-Identifier: BSD-3-Clause
// Actions of users and administrators stand; modes detach, observe and off.
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;
using ringrt::records::kRunMailsAll;

// A start time set after the release is the user's, even if it is sooner than Slurm's own hold.
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

// Its data is copied to a burst buffer before each start, for longer than fit_wait_s.
TEST(a_job_keeps_its_size_while_its_data_is_staged) {
    World world({4, 4});
    world.cluster.staging_s = 25;
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 2000});
    world.run(60);
    ck_assert_msg(world.cluster.job(a).gpus_requested == 8, "%s", world.cluster.story().c_str());
    world.cluster.submit_rigid(4, 20, 1, 1);
    world.run(60);
    ck_assert_msg(world.cluster.count(EventKind::downsized) == 0, "%s",
                  world.cluster.story().c_str());
    ck_assert_int_gt(world.cluster.count(EventKind::resized), 0);
    expect_all_finish(world, 3000, "staging");
}

TEST(a_size_that_a_user_set_stands) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run(20);
    world.cluster.set_gpus(a, 3);
    world.run(5);
    ck_assert_int_eq(world.cluster.count(EventKind::user_override), 1);
    world.cluster.submit_malleable(1, 8, {.steps = 100});
    expect_all_finish(world, 1000, "another size");
    ck_assert_int_eq(world.cluster.intent(a).resize_id, 0);
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 3);
}

TEST(a_running_job_without_a_record_is_not_reported_as_ended) {
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

// A lent place in the queue is for one restart: a user must not gain another one from it.
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

// Slurm has then set the size and the record but not the start time, which is still that of its
// requeue.
TEST(a_hold_that_interrupts_the_release_costs_no_start_delay) {
    World world({4, 4});
    world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    const auto &job = world.cluster.job(id);
    world.run(20);
    const auto is_asked = [&] { return world.cluster.intent(id).state == IntentState::asked; };
    ck_assert(world.run_until(is_asked, 120) >= 0);
    world.cluster.next_held = true;
    const auto is_held = [&] { return job.pending_reason == PendingReason::held; };
    ck_assert(world.run_until(is_held, 60) >= 0);
    world.run(5);
    ck_assert(job.phase == JobPhase::pending);
    world.cluster.hold(id, false);
    const auto runs = [&] { return job.phase == JobPhase::running; };
    ck_assert_msg(world.run_until(runs, 10) >= 0, "%s", world.cluster.story(id).c_str());
    expect_all_finish(world, 3000, "held while it was released");
}

// Slurm sends a mail for each requeue and each start. The user gets only that of the first start,
// and that of the user's own requeue.
TEST(a_resize_sends_no_mail) {
    World world({4, 4});
    world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    const auto has_resized = [&] { return world.cluster.intent(id).resizes > 0; };
    ck_assert(world.run_until(has_resized, 200) >= 0);
    ck_assert_int_eq(world.cluster.mails_of(id), 1);
    ck_assert_uint_eq(world.cluster.job(id).run_mails, kRunMailsAll);
    world.cluster.requeue(id);
    ck_assert_int_eq(world.cluster.mails_of(id), 2);
    expect_all_finish(world, 3000, "mails");
    ck_assert_int_eq(world.cluster.mails_of(id), 3);
}

TEST(a_job_that_was_called_off_has_its_mails) {
    World world({4, 4});
    world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    const auto &job = world.cluster.job(id);
    world.run(20);
    world.cluster.ignore_signals(id);
    ck_assert(world.run_until([&] { return job.run_mails == 0; }, 120) >= 0);
    ck_assert(world.run_until([&] { return job.run_mails == kRunMailsAll; }, 300) >= 0);
    ck_assert_int_ge(world.cluster.count(EventKind::called_off), 1);
    ck_assert_int_eq(job.restarts, 0);
}

TEST(a_job_that_requeues_itself_before_its_start_is_noted_gives_the_place_back) {
    World world({4, 4});
    (void)world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000, .telemetry_s = 0});
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

TEST(a_job_that_its_user_gives_another_size_gives_the_place_back) {
    World world({4, 4});
    (void)world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 4, {.steps = 3000});
    world.run(30);
    const auto has_lent = [&] { return world.cluster.job(id).nice < 0; };
    ck_assert(world.run_until(has_lent, 120) >= 0);
    world.cluster.set_gpus(id, 12);  // more than the cluster has: it stays pending
    world.run(2);
    ck_assert(world.cluster.job(id).phase == JobPhase::pending);
    ck_assert_msg(world.cluster.job(id).nice == 0, "%s", world.cluster.story(id).c_str());
}

TEST(a_job_that_its_user_holds_gives_the_place_back) {
    World world({4, 4});
    (void)world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000, .telemetry_s = 0});
    world.run(30);
    const auto has_lent = [&] { return world.cluster.job(id).nice < 0; };
    ck_assert(world.run_until(has_lent, 120) >= 0);
    world.cluster.hold(id, true);
    world.run(5);
    ck_assert_msg(world.cluster.job(id).nice == 0, "%s", world.cluster.story(id).c_str());
    world.cluster.hold(id, false);
    expect_all_finish(world, 3000, "nice");
}

// A job that its user holds, or restricts to other nodes, in the gap of a resize must not keep that
// place when it is released: it waits like any other job.
TEST(a_job_that_is_held_or_changed_in_the_gap_has_no_place_lent) {
    for (const bool holds : {true, false}) {
        World world({4, 4});
        (void)world.cluster.submit_rigid(7, 40, 1, 2);
        const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000, .telemetry_s = 0});
        const auto is_away = [&] {
            return world.cluster.intent(id).state == IntentState::asked &&
                   world.cluster.job(id).phase == JobPhase::pending;
        };
        ck_assert(world.run_until(is_away, 120) >= 0);
        if (holds)
            world.cluster.hold(id, true);
        else
            world.cluster.set_constraints(id, 77);
        for (int i = 0; i < 100; ++i) {
            world.run(0.25);
            if (i == 20) world.cluster.hold(id, false);
            ck_assert_msg(world.cluster.job(id).nice == 0, "%s", world.cluster.story(id).c_str());
        }
        ck_assert_int_eq(world.cluster.count(EventKind::user_override), 1);
        ck_assert(world.cluster.job(id).phase == JobPhase::running);
        ck_assert_int_eq(world.cluster.job(id).gpus_requested, 8);
        expect_all_finish(world, 3000, "changed in the gap");
    }
}

// Slurm lets its user change it as soon as it is requeued, while its old run is still completing.
TEST(a_job_that_is_changed_while_it_completes_has_no_place_lent) {
    World world({4, 4});
    (void)world.cluster.submit_rigid(7, 40, 1, 2);
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000, .telemetry_s = 0});
    const auto completes = [&] {
        return world.cluster.intent(id).state == IntentState::asked &&
               world.cluster.job(id).phase == JobPhase::completing;
    };
    ck_assert(world.run_until(completes, 120) >= 0);
    world.cluster.set_constraints(id, 77);
    for (int i = 0; i < 100; ++i) {
        world.run(0.25);
        ck_assert_msg(world.cluster.job(id).nice == 0, "%s", world.cluster.story(id).c_str());
    }
    ck_assert_int_eq(world.cluster.count(EventKind::user_override), 1);
    expect_all_finish(world, 3000, "changed while it completes");
}

// mode: detach, at many moments of a resize, and with a controller restart meanwhile.
TEST(every_job_is_handed_back) {
    for (int moment = 0; moment < 40; ++moment) {
        World world({4, 4});
        const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 200000});
        world.run(20);
        const uint32_t b = world.cluster.submit_malleable(1, 8, {.steps = 200000});
        const uint32_t held = world.cluster.submit_malleable(2, 8, {.steps = 100}, 4, {}, 5000);
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

TEST(mode_observe_reports_and_changes_nothing) {
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

TEST(mode_off_does_nothing) {
    Options options = quick_options();
    options.mode = Mode::off;
    World world({4});
    world.options = options;
    world.restart();
    world.cluster.submit_malleable(1, 4, {.steps = 20});
    expect_all_finish(world, 200, "off");
    ck_assert(world.cluster.events.empty());
}

// For a running job Slurm shows one of its partitions, and after its requeue that one first.
TEST(the_order_of_the_partitions_is_no_edit) {
    const auto is_edited = [](const std::string &after) {
        JobTracker tracker;
        std::vector<Event> events;
        double now_s = 1000;
        JobRecord record{.id = 1};
        MalleableJob job{.record = &record};
        const auto see = [&](Stage stage, const std::string &partition) {
            job.stage = stage;
            record.partition = partition;
            tracker.update(job, {}, 0, ++now_s, false, events);
        };
        see(Stage::eligible, "main,other");
        see(Stage::running, "other");
        job.intent.asked_s = now_s;
        see(Stage::signalled, "other");
        see(Stage::completing, "other");
        see(Stage::unsized, after);
        return tracker.is_edited;
    };
    ck_assert(!is_edited("main,other") && !is_edited("other,main"));
    ck_assert(is_edited("other,third") && is_edited("other") && is_edited("other,main,third"));
}

int main() { return ringrt::test::run_all("user_wins", 600); }
