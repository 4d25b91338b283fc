// SPDX-License-Identifier: BSD-3-Clause
// Pauses (doc/pausing.md): a job leaves its GPUs, waits and continues, also if the controller is
// away. The policy of these tests gives all to the newest job (last_first.cpp).
#include <cmath>

#include "slurm_plugin/controller/pausing.h"
#include "slurm_plugin/records/flag.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;

namespace {

bool is_paused(const World &world, uint32_t id) { return world.cluster.is_paused(id); }

void expect_paused(World &world, uint32_t id) {
    ck_assert_msg(world.run_until([&] { return is_paused(world, id); }, 60) >= 0, "%s",
                  world.cluster.story().c_str());
}

void expect_running(World &world, uint32_t id, double most_s) {
    ck_assert_msg(world.run_until([&] { return world.cluster.job(id).phase == JobPhase::running; },
                                  most_s) >= 0,
                  "%s", world.cluster.story().c_str());
}

bool tells(const World &world, EventKind kind, const std::string &start) {
    return std::ranges::any_of(world.cluster.events, [&](const Event &event) {
        return event.kind == kind && event.text.starts_with(start);
    });
}

struct Two {
    explicit Two(Options options = pausing_options(), double second_steps = 400)
        : world({4, 4}, std::move(options)) {
        world.cluster.may_pause = true;
        first = world.cluster.submit_malleable(1, 8, {.steps = 200, .telemetry_s = 1});
        world.run(20);
        second = world.cluster.submit_malleable(1, 8, {.steps = second_steps, .telemetry_s = 1});
    }
    World world;
    uint32_t first = 0, second = 0;
};

}  // namespace

TEST(a_job_pauses_for_another_and_continues) {
    Two two;
    World &world = two.world;
    expect_paused(world, two.first);
    ck_assert_int_eq(world.cluster.job(two.first).gpus_requested, 1);
    ck_assert_double_gt(world.cluster.job(two.first).begin_s, world.cluster.now_s() + 500);
    ck_assert_double_eq(world.cluster.intent(two.first).asked_s, 0);
    expect_running(world, two.second, 30);
    world.run(2);
    ck_assert_int_eq(world.controller->statistics().paused, 1);
    ck_assert_uint_eq(world.controller->statistics().pauses, 1);
    ck_assert_int_eq(world.controller->statistics().in_flight, 0);
    world.run_until([&] { return world.cluster.completed(two.second); }, 900);
    ck_assert(is_paused(world, two.first));
    expect_running(world, two.first, 30);
    ck_assert_int_eq(world.cluster.job(two.first).gpus_requested, 8);
    ck_assert_int_eq(world.cluster.count(EventKind::resumed), 1);
    ck_assert(tells(world, EventKind::resumed, "resumed after a pause of "));
    expect_all_finish(world, 900, "pause");
    ck_assert_double_eq(world.cluster.lost_steps(two.first), 0);
}

TEST(only_a_job_that_may_be_paused_is) {
    for (const bool asked : {false, true}) {
        Options options = pausing_options();
        options.pause = asked ? Pausing::asked : Pausing::never;
        World world({4, 4}, options);
        const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300});
        world.cluster.allow_pause(a, !asked);
        world.run(20);
        world.cluster.submit_malleable(1, 8, {.steps = 100});
        expect_all_finish(world, 900, "may not pause");
        ck_assert_int_eq(world.cluster.count(EventKind::paused), 0);
    }
    Options options = pausing_options();
    options.pause = Pausing::asked;
    Two two(options);
    two.world.cluster.allow_pause(two.first, true);
    expect_paused(two.world, two.first);
    expect_all_finish(two.world, 1500, "asked");
}

TEST(a_job_that_might_lose_its_right_to_run_is_not_paused) {
    JobRecord record{.id = 1, .phase = JobPhase::running, .gpus_requested = 1};
    const Options options = pausing_options();
    const MalleableJob job{.record = &record, .intent = {.pause = true}, .stage = Stage::running};
    ck_assert(may_pause(job, options));
    record.has_reservation = true;
    ck_assert(!may_pause(job, options));
    record.has_reservation = false;
    record.array_at_limit = true;  // the next task would take its place
    ck_assert(!may_pause(job, options));
}

// Otherwise two jobs that have reported nothing yet could pause each other in turns.
TEST(a_job_runs_for_a_while_before_it_is_paused) {
    Options options = pausing_options();
    options.min_resize_interval_s = 60;
    World world({4, 4}, options);
    world.cluster.may_pause = true;
    const uint32_t first = world.cluster.submit_malleable(1, 8, {.steps = 2000, .telemetry_s = 1});
    world.run(10);
    world.cluster.submit_malleable(1, 8, {.steps = 400, .telemetry_s = 1});
    world.run(40);
    ck_assert_msg(!is_paused(world, first), "%s", world.cluster.story().c_str());
    expect_paused(world, first);
    expect_all_finish(world, 5000, "a while");
}

// The start time is renewed in time, also if nothing else changes for long.
TEST(a_pause_lasts_longer_than_its_lease) {
    Options options = pausing_options();
    options.interval_s = 86400;
    Two two(options, 8000);
    World &world = two.world;
    expect_paused(world, two.first);
    for (int n = 0; n < 50; ++n) {
        world.run(30);
        ck_assert_msg(is_paused(world, two.first), "%s", world.cluster.story().c_str());
        ck_assert_double_gt(world.cluster.job(two.first).begin_s,
                            world.cluster.now_s() + kPauseLease_s / 2 - 35);
    }
    ck_assert_int_eq(world.cluster.job(two.first).gpus_requested, 1);
    expect_all_finish(world, 3000, "renewal");
    ck_assert_double_eq(world.cluster.lost_steps(two.first), 0);
}

namespace {

// Nothing changes, and the cluster says so: a pass that would find the same is skipped.
class StillCluster final : public Agreeing {
  public:
    explicit StillCluster(double now_s) {
        seen.version = 1;
        seen.nodes.push_back({.name = "n0", .gpus = 1});
        ringrt::records::Intent intent{.state = IntentState::running, .gpus = 1, .run = 0};
        seen.jobs.push_back({.id = 1, .phase = JobPhase::pending, .restarts = 1});
        seen.jobs.push_back({.id = 2, .phase = JobPhase::running, .start_s = now_s});
        seen.jobs[1].gpus_on_node = {{0, 1}};
        for (JobRecord &job : seen.jobs) job.gpus_requested = 1;
        set_intent(seen.jobs[1], intent);
        intent.state = IntentState::paused;
        intent.target = intent.run = 1;
        intent.since_s = now_s;
        intent.begin_s = static_cast<int64_t>(now_s + kPauseLease_s);
        set_intent(seen.jobs[0], intent);
        seen.jobs[0].begin_s = now_s + kPauseLease_s;
    }
    RpcStatus write_intent(uint32_t id, const std::string &text, const Settings &) override {
        set_intent(seen.jobs.at(id - 1), ringrt::records::parse_intent(text).value());
        return RpcStatus::ok;
    }
    RpcStatus update_pending(uint32_t, const PendingUpdate &update) override {
        renewed_to_s = update.begin_s.value_or(0);
        return RpcStatus::ok;
    }
    void write(const Event &) override {}
    double renewed_to_s = 0;
};

// Hundreds of paused jobs whose start times are to be renewed, and a new job after them.
class BusyCluster final : public Agreeing {
  public:
    explicit BusyCluster(double now_s) {
        seen.nodes.push_back({.name = "n0", .gpus = 1});
        ringrt::records::Intent intent{.state = IntentState::paused, .target = 1, .run = 0};
        intent.since_s = now_s - 400;
        intent.begin_s = static_cast<int64_t>(now_s + 200);
        for (uint32_t id = 1; id <= 300; ++id) {
            seen.jobs.push_back({.id = id, .submit_s = now_s - 9000, .begin_s = now_s + 200});
            set_intent(seen.jobs.back(), intent);
        }
        seen.jobs.push_back({.id = 301, .submit_s = now_s - 60, .priority = 1000});
        set_intent(seen.jobs.back(), {});
        for (JobRecord &job : seen.jobs) job.gpus_requested = 1;
    }
    RpcStatus update_pending(uint32_t id, const PendingUpdate &) override {
        updated.push_back(id);
        return RpcStatus::ok;
    }
    void write(const Event &) override {}
    std::vector<uint32_t> updated;
};

}  // namespace

TEST(a_start_time_is_renewed_although_nothing_changes) {
    constexpr double kBegin_s = 1763721600;
    StillCluster cluster(kBegin_s);
    Options options = pausing_options();
    options.interval_s = 86400;
    Controller controller(cluster, cluster, options);
    for (double now_s = kBegin_s; now_s < kBegin_s + 290; ++now_s) controller.pass(now_s);
    ck_assert_double_eq(cluster.renewed_to_s, 0);
    for (double now_s = kBegin_s + 290; now_s < kBegin_s + 310; ++now_s) controller.pass(now_s);
    ck_assert_double_gt(cluster.renewed_to_s, kBegin_s + 890);
    ck_assert_double_eq(std::fmod(cluster.renewed_to_s, 60), 0);
}

TEST(renewals_do_not_delay_other_jobs) {
    constexpr double kBegin_s = 1763721600;
    BusyCluster cluster(kBegin_s);
    Controller controller(cluster, cluster, pausing_options());
    controller.pass(kBegin_s);
    ck_assert_uint_gt(cluster.updated.size(), 50);
    ck_assert_uint_lt(cluster.updated.size(), 300);
    ck_assert_uint_eq(cluster.updated.front(), 301);
}

// Nobody renews the start time: Slurm starts the job with its MIN.
TEST(a_paused_job_starts_without_a_controller) {
    Two two(pausing_options(), 300);
    World &world = two.world;
    expect_paused(world, two.first);
    expect_running(world, two.second, 30);
    world.go_away(620);
    world.run(535);
    ck_assert(world.cluster.job(two.first).phase == JobPhase::pending);
    expect_running(world, two.first, 70);
    ck_assert_int_eq(world.cluster.job(two.first).gpus_requested, 1);
    expect_all_finish(world, 1500, "no controller");
    ck_assert(tells(world, EventKind::started, "running with 1 GPU after a pause of "));
    ck_assert_double_eq(world.cluster.lost_steps(two.first), 0);
}

// The lease is over and there is no room: it is pending like any other job until it has run again.
TEST(a_job_whose_lease_is_over_is_an_ordinary_pending_job) {
    Two two(pausing_options(), 8000);
    World &world = two.world;
    expect_paused(world, two.first);
    expect_running(world, two.second, 30);
    world.go_away(620);
    world.run(650);
    const auto stage = stage_of(world.cluster.job(two.first), world.cluster.intent(two.first),
                                SlurmHold::none, {}, world.cluster.now_s());
    ck_assert(stage == Stage::eligible);
    ck_assert_int_eq(world.controller->statistics().paused, 0);
    expect_all_finish(world, 9000, "lease over");
}

TEST(nothing_is_paused_for_longer_than_the_site_allows) {
    Options options = pausing_options();
    options.pause_longest_s = 100;
    Two two(options, 8000);
    World &world = two.world;
    expect_paused(world, two.first);
    const double paused_s = world.cluster.now_s();
    world.run_until([&] { return !is_paused(world, two.first); }, 200);
    ck_assert_double_le(world.cluster.now_s(), paused_s + 104);
    ck_assert_int_eq(world.cluster.job(two.first).gpus_requested, 1);
    ck_assert_double_le(world.cluster.job(two.first).begin_s, world.cluster.now_s());
    expect_all_finish(world, 9000, "longest");
}

// All GPUs of a job that may be paused are borrowed: a rigid job gets them.
TEST(a_job_pauses_for_a_rigid_job) {
    Options options = quick_options();
    options.pause = Pausing::all;
    World world({4, 4}, options);
    world.cluster.may_pause = true;
    const uint32_t a = world.cluster.submit_malleable(4, 4, {.steps = 300, .telemetry_s = 1});
    const uint32_t b = world.cluster.submit_malleable(4, 4, {.steps = 400, .telemetry_s = 1});
    world.run(30);
    const uint32_t rigid = world.cluster.submit_rigid(4, 60);
    expect_running(world, rigid, 40);
    world.run(2);
    ck_assert_int_eq(world.cluster.count(EventKind::paused), 1);
    ck_assert(is_paused(world, a) != is_paused(world, b));
    expect_all_finish(world, 1500, "rigid");
    for (const uint32_t id : {a, b}) ck_assert_double_eq(world.cluster.lost_steps(id), 0);
}

// ---- the user wins ----------------------------------------------------------------------------

TEST(start_time_now_resumes_a_paused_job) {
    Two two(pausing_options(), 4000);
    World &world = two.world;
    expect_paused(world, two.first);
    expect_running(world, two.second, 30);
    world.cluster.set_begin(two.first, world.cluster.now_s());
    world.run(300);
    ck_assert_double_le(world.cluster.job(two.first).begin_s, world.cluster.now_s());
    ck_assert_int_eq(world.controller->statistics().paused, 0);
    expect_all_finish(world, 4500, "start time now");
}

TEST(another_start_time_of_a_paused_job_stands) {
    Two two(pausing_options(), 100);
    World &world = two.world;
    expect_paused(world, two.first);
    const double begin_s = world.cluster.now_s() + 2000;
    world.cluster.set_begin(two.first, begin_s);
    world.run(1900);
    ck_assert(world.cluster.job(two.first).phase == JobPhase::pending);
    ck_assert_double_eq(world.cluster.job(two.first).begin_s, begin_s);
    expect_all_finish(world, 1500, "start time");
}

TEST(a_held_paused_job_is_left_alone) {
    Two two(pausing_options(), 100);
    World &world = two.world;
    expect_paused(world, two.first);
    const double begin_s = world.cluster.job(two.first).begin_s;
    world.cluster.hold(two.first, true);
    world.run(900);
    ck_assert(world.cluster.job(two.first).phase == JobPhase::pending);
    ck_assert_double_eq(world.cluster.job(two.first).begin_s, begin_s);
    world.cluster.hold(two.first, false);
    expect_running(world, two.first, 60);
    expect_all_finish(world, 1500, "hold");
}

TEST(another_size_of_a_paused_job_stands) {
    Two two(pausing_options(), 1000);
    World &world = two.world;
    expect_paused(world, two.first);
    expect_running(world, two.second, 30);
    world.cluster.set_gpus(two.first, 2);
    world.run(5);
    ck_assert_int_eq(world.cluster.job(two.first).gpus_requested, 2);
    ck_assert_double_le(world.cluster.job(two.first).begin_s, world.cluster.now_s());
    expect_all_finish(world, 3000, "size");
}

// ---- the flag, modes and parameters
// ---------------------------------------------------------------------

TEST(the_flag_has_no_value) {
    using namespace ringrt::records;
    ck_assert(std::get<bool>(parse_pause("1")));
    for (const std::string_view text : {"", "0", "yes", "11", "1 "})
        ck_assert(std::holds_alternative<FlagError>(parse_pause(text)));
}

TEST(a_site_that_allows_no_pauses_any_more_resumes_all) {
    for (const bool detach : {false, true}) {
        Two two(pausing_options(), 8000);
        World &world = two.world;
        expect_paused(world, two.first);
        expect_running(world, two.second, 30);
        if (detach)
            world.options.mode = Mode::detach;
        else
            world.options.pause = Pausing::never;
        world.controller->set_options(world.options);
        world.run(60);
        ck_assert_double_le(world.cluster.job(two.first).begin_s, world.cluster.now_s());
        ck_assert(detach == !world.cluster.job(two.first).intent.has_value());
        expect_all_finish(world, 9000, "no more pauses");
    }
}

// It has its place back at once, as after any resize.
TEST(a_job_that_left_as_pauses_were_forbidden_restarts) {
    Two two(pausing_options(), 300);
    World &world = two.world;
    world.run_until([&] { return world.cluster.intent(two.first).asked_s > 0; }, 60);
    world.options.pause = Pausing::never;
    world.controller->set_options(world.options);
    world.run_until([&] { return world.cluster.job(two.first).phase == JobPhase::pending; }, 60);
    expect_running(world, two.first, 20);
    ck_assert_int_eq(world.cluster.count(EventKind::paused), 0);
    expect_all_finish(world, 3000, "forbidden");

    const JobRecord record{.id = 1, .gpus_requested = 1};
    MalleableJob left{.record = &record, .intent = {.state = IntentState::asked}};
    left.stage = Stage::unsized;
    left.intent.asked_s = 1;
    ck_assert(gave_up_its_place(left, 10, pausing_options()));
    ck_assert(!gave_up_its_place(left, 10, world.options));
}

TEST(mode_observe_only_tells) {
    Options options = pausing_options();
    options.mode = Mode::observe;
    Two two(options, 200);
    expect_all_finish(two.world, 3000, "observe");
    ck_assert_int_eq(two.world.cluster.count(EventKind::paused), 0);
    const auto &events = two.world.cluster.events;
    ck_assert(std::ranges::any_of(events, [](const Event &event) {
        return event.kind == EventKind::dry_run && event.to == 0 &&
               event.text == "would be signalled to save and pause: it has 1 GPU";
    }));
}

// ---- what a pause keeps -----------------------------------------------------------------------

TEST(a_pause_adds_no_time_to_the_limit) {
    World world({4, 4}, pausing_options());
    world.cluster.may_pause = true;
    const uint32_t a =
        world.cluster.submit_malleable(1, 8, {.steps = 4000, .telemetry_s = 1}, 0, 600);
    world.run(130);
    world.cluster.submit_malleable(1, 8, {.steps = 3000, .telemetry_s = 1});
    expect_paused(world, a);
    const auto used_s = world.cluster.intent(a).used_s;
    ck_assert_int_ge(used_s, 120);
    ck_assert_int_eq(*world.cluster.job(a).time_limit_s, (600 - used_s) / 60 * 60);
    expect_running(world, a, 2000);
    world.run(5);
    ck_assert_int_eq(world.cluster.intent(a).limit_s, 600);
    ck_assert_int_eq(world.cluster.intent(a).used_s, used_s);
}

// A pause is no restart cost: what the job costs to stop and start does not contain the pause.
TEST(a_pause_is_no_restart_cost) {
    Two two;
    World &world = two.world;
    expect_paused(world, two.first);
    expect_running(world, two.first, 900);
    world.run(5);
    ck_assert_double_lt(world.cluster.intent(two.first).restart_s, 30);
    expect_all_finish(world, 900, "cost");
}

TEST(a_pause_that_is_not_heeded_is_called_off) {
    World world({4, 4}, pausing_options());
    world.cluster.may_pause = true;
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 300, .heeds_signal = false});
    world.run(20);
    world.cluster.submit_malleable(1, 8, {.steps = 100});
    world.run_until([&] { return world.cluster.count(EventKind::called_off) > 0; }, 120);
    ck_assert_int_eq(world.cluster.count(EventKind::called_off), 1);
    ck_assert(world.cluster.job(a).phase == JobPhase::running);
    expect_all_finish(world, 2000, "called off");
}

int main() { return ringrt::test::run_all("pausing", 120); }
