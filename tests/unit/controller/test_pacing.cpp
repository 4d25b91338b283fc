// SPDX-License-Identifier: BSD-3-Clause
// Backoff, ceiling, breaker and quiet passes: no job is asked repeatedly in vain.
#include "slurm_plugin/controller/decision_clock.h"
#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::IntentState;

namespace {

// A cluster that never changes: 50 running malleable jobs, 20 pending ones, 100 rigid ones.
class StillCluster final : public Agreeing {
  public:
    StillCluster() {
        for (int i = 0; i < 60; ++i)
            seen.nodes.push_back({.name = "n" + std::to_string(i), .gpus = 4});
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
            if (i < 70) set_intent(r, intent);
            r.telemetry = ringrt::records::parse_telemetry(
                "ringrt/1 run=0 gpus=4 step=100 step_ms=100 left=1000 ckpt=50 up=1 "
                "speed=1:300,2:170,4:100");
            seen.jobs.push_back(r);
        }
    }
    RpcStatus write_intent(uint32_t, const std::string &, const Settings &) override {
        return RpcStatus::busy;
    }
    RpcStatus update_pending(uint32_t, const PendingUpdate &) override { return RpcStatus::busy; }
    RpcStatus signal_steps(uint32_t, int) override { return RpcStatus::busy; }
    void write(const Event &) override { ++written; }
    long written = 0;
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

TEST(a_backoff_doubles_to_a_day) {
    Backoff backoff;
    ck_assert(!backoff.holds(0));
    double pause_s = 60;
    for (int failure = 0; failure < 40; ++failure) {
        backoff.failed(60, 1000);
        ck_assert_double_eq(backoff.until_s(), 1000 + std::min(pause_s, 86400.0));
        pause_s *= 2;
    }
    ck_assert(backoff.holds(1000 + 86399) && !backoff.holds(1000 + 86400));
    backoff.succeeded();
    backoff.failed(60, 2000);
    ck_assert_double_eq(backoff.until_s(), 2060);
    backoff.paused(5, 3000);  // a refusal is not the job's failure
    backoff.failed(60, 4000);
    ck_assert_double_eq(backoff.until_s(), 4120);
}

TEST(a_ceiling_forbids_larger_sizes_for_half_an_hour) {
    Ceiling ceiling;
    ck_assert(!ceiling.forbids(1000, 0));
    ceiling.set(4, 100);
    ck_assert(ceiling.forbids(8, 1899) && !ceiling.forbids(4, 1899) && !ceiling.forbids(8, 1900));
}

TEST(launches_are_forgiven_and_counted_once) {
    LaunchFailures launches;
    for (int failure = 1; failure <= 4; ++failure) {
        ck_assert(launches.update(true) && !launches.update(true));
        ck_assert(launches.gives_up() == (failure == 4));
        ck_assert(!launches.update(false));
    }
    launches.ran(59);
    ck_assert(launches.gives_up());
    launches.ran(60);
    ck_assert(!launches.gives_up());
}

// A pass may see a new rigid job before Slurm has looked for room for it. It is due GPUs only then,
// and must not wait for the next interval.
TEST(a_rigid_job_is_decided_on_when_slurm_finds_no_room_for_it) {
    Observation seen;
    seen.jobs.push_back({.id = 1, .submit_s = 1000, .gpus_requested = 2});
    DecisionClock clock;
    const auto is_time = [&](double now_s) {
        seen.now_s = now_s;
        return clock.is_time(seen, {}, 10, now_s);
    };
    ck_assert(is_time(1000) && !is_time(1001));
    seen.jobs[0].pending_reason = PendingReason::resources;
    ck_assert(is_time(1002) && !is_time(1003));
    seen.jobs[0].pending_reason = PendingReason::priority;
    ck_assert(!is_time(1004) && is_time(1012));
}

TEST(a_job_that_ignores_the_signal_continues) {
    World world({4, 4});
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 3000, .heeds_signal = false});
    world.run(20);
    world.cluster.submit_malleable(1, 8, {.steps = 100});
    ck_assert(world.run_until([&] { return world.cluster.count(EventKind::called_off) > 0; }, 60) >=
              0);
    ck_assert(world.cluster.intent(a).state == IntentState::running);
    ck_assert_int_eq(world.cluster.job(a).restarts, 0);
    // Backoff: the pauses between two requests grow.
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

// One job after another fails to reach its checkpoint. After several, none is asked for a while.
// Then one is asked, and when that fails too, all wait again.
TEST(the_breaker_pauses_all_resizes) {
    Options options = quick_options();
    options.breaker_jobs = 3;
    options.breaker_pause_s = 300;
    options.resizes_in_flight = 1;
    options.back_off_s = 5000;  // each job is asked once
    World world(std::vector<int>(8, 4), options);
    for (uint32_t i = 0; i < 8; ++i)
        world.cluster.set_user(
            world.cluster.submit_malleable(1, 4, {.steps = 4000, .heeds_signal = false}), 1000 + i);
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
    // One was asked before the pause, after the previous one had been silent for a while.
    ck_assert_int_eq(world.cluster.count(EventKind::called_off), asked + 1);
}

TEST(the_breaker_counts_jobs_and_not_failures) {
    Breaker breaker;
    using Opened = Breaker::Opened;
    constexpr uint32_t kUser = 1000;
    for (int i = 0; i < 10; ++i)
        ck_assert(breaker.failed(kUser, 7, 100 + i, 2, 60) == Opened::none);
    ck_assert(breaker.failed(kUser, 8, 110, 2, 60) == Opened::user);
    const Circuit &circuit = breaker.of(kUser);
    ck_assert(circuit.is_open(169) && !circuit.is_open(171));
    ck_assert_int_eq(circuit.in_flight_most(120, 8), 0);
    ck_assert_int_eq(circuit.in_flight_most(171, 8), 1);
    breaker.succeeded(kUser);
    ck_assert_int_eq(breaker.of(kUser).in_flight_most(172, 8), 8);
}

TEST(the_breaker_for_all_counts_users) {
    Breaker breaker;
    for (uint32_t job = 1; job <= 50; ++job) breaker.failed(1000, job, 100, 3, 60);
    breaker.failed(1001, 60, 100, 3, 60);
    ck_assert(breaker.of(1000).is_open(101) && !breaker.of(1001).is_open(101));
    ck_assert(!breaker.all().is_open(101));
    ck_assert(breaker.failed(1002, 61, 100, 3, 60) == Breaker::Opened::all);
    ck_assert(breaker.all().is_open(101));
    breaker.succeeded(1001);
    ck_assert(!breaker.all().is_open(101) && breaker.of(1000).is_open(101));
}

// As many jobs of one user as may be resized at once never answer, with a grace time of a day, or
// always fail. Another user's jobs are still resized.
void expect_others_resized(const Options &options, const Program &program) {
    World world(std::vector<int>(8, 4), options);
    for (int i = 0; i < 8; ++i) {
        const uint32_t id = world.cluster.submit_malleable(1, 2, program);
        world.cluster.set_user(id, 1000);
    }
    const uint32_t other = world.cluster.submit_malleable(1, 16, {.steps = 100000});
    world.cluster.set_user(other, 1001);
    world.run(30);
    // Rigid jobs that need all borrowed GPUs: every job is asked.
    for (int i = 0; i < 6; ++i) world.cluster.submit_rigid(2, 1e6);
    world.run(60);
    ck_assert_msg(world.cluster.intent(other).resizes > 0, "%s", world.cluster.story().c_str());
}

TEST(silent_jobs_of_a_user_block_no_other_user) {
    Options options = quick_options();
    options.resizes_in_flight = 4;
    options.grace_most_s = 86400;
    expect_others_resized(options, {.steps = 100000, .heeds_signal = false, .grace_s = 86400});
}

TEST(failing_jobs_of_a_user_block_no_other_user) {
    Options options = quick_options();
    options.breaker_jobs = 3;
    expect_others_resized(options, {.steps = 100000, .heeds_signal = false, .grace_s = 1});
}

// An unchanged state with nothing to do causes no work. A new state, the next decision time and a
// reload do.
TEST(a_quiet_queue_is_not_processed_again) {
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
    cluster.seen.nodes = {{.name = "n0", .gpus = 4}};
    Options options = quick_options();
    options.interval_s = 10;
    Controller controller(cluster, cluster, options);
    double now_s = 1000;
    int decisions = 0;
    const auto pass = [&] {
        controller.pass(now_s);
        decisions += controller.explanations().has_value();
    };
    for (; now_s < 1009; ++now_s) pass();
    ck_assert_int_eq(decisions, 1);
    for (; now_s < 1019; ++now_s) pass();  // one more decision
    ck_assert_int_eq(decisions, 2);
    cluster.seen.version = 2;
    pass();
    ck_assert_int_eq(decisions, 3);
    controller.set_options(options);
    pass();
    ck_assert_int_eq(decisions, 4);
    ck_assert_int_eq(cluster.copies, 2);  // one per version: nothing is changed in it
    ck_assert_uint_eq(controller.statistics().passes, 21);
}

TEST(an_idle_controller_polls_at_most_once_a_second) {
    World world({4});
    world.cluster.submit_malleable(4, 4, {.steps = 500});
    world.run(30);
    const uint64_t before = world.controller->statistics().passes;
    world.run(60);
    ck_assert_int_le(world.controller->statistics().passes - before, 61);
}

// A site's job_modify may refuse every change. The refusal is logged now and then, and Slurm is not
// flooded.
TEST(a_refused_record_is_not_sent_in_each_pass) {
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

TEST(a_size_above_a_limit_is_halved_until_it_is_allowed) {
    World world({4, 4});
    world.cluster.gpus_allowed = 2;
    const uint32_t a = world.cluster.submit_malleable(1, 8, {.steps = 60});
    ck_assert(world.run_until([&] { return world.cluster.job(a).phase == JobPhase::running; }, 9) >=
              0);
    ck_assert_int_eq(world.cluster.job(a).gpus_requested, 2);
    expect_all_finish(world, 500, "limit");
    ck_assert_int_eq(world.cluster.count(EventKind::refused), 2);
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
        ck_assert_msg(took >= 15, "after failure %d: %g s", failure, took);  // waits for remains
        ck_assert_int_eq(world.cluster.count(EventKind::launch_failed), failure);
    }
    world.run(5);
    world.cluster.fail_launch(id);
    ck_assert(world.run_until(runs, 200) < 0);
    ck_assert_int_eq(world.cluster.count(EventKind::launch_failed), 4);
    world.cluster.hold(id, false);  // an administrator releases the job
    ck_assert(world.run_until(runs, 60) >= 0);
    expect_all_finish(world, 3000, "failed launches");
}

TEST(failed_launches_weeks_apart_are_not_added_up) {
    World world({4, 4});
    const uint32_t id = world.cluster.submit_malleable(1, 8, {.steps = 3000});
    const auto runs = [&] { return world.cluster.job(id).phase == JobPhase::running; };
    for (int failure = 1; failure <= 6; ++failure) {
        ck_assert_msg(world.run_until(runs, 60) >= 0, "after failure %d", failure - 1);
        world.run(70);
        world.cluster.fail_launch(id);
    }
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
    world.run(600);  // under the ceiling it is asked for at most half of the refused size
    ck_assert_msg(world.cluster.count(EventKind::downsized) == 1, "%s",
                  world.cluster.story(id).c_str());
    expect_all_finish(world, 5000, "BadConstraints");
}

// Slurm lists the GPUs of a requeued job that still completes as free, and starts nothing there.
TEST(no_job_leaves_for_the_gpus_of_a_completing_node) {
    World world({4, 4});
    const uint32_t near = world.cluster.submit_rigid(3, 20, 1, 1);
    world.cluster.submit_rigid(4, 3000, 1, 1);
    const uint32_t id = world.cluster.submit_malleable(1, 4, {.steps = 3000});
    world.run(10);
    world.cluster.completing_node = world.cluster.job(near).gpus_on_node.at(0).first;
    world.run(60);
    ck_assert_int_eq(world.cluster.count(EventKind::asked), 0);
    world.cluster.completing_node = -1;
    const auto grown = [&] { return world.cluster.job(id).gpus_requested == 4; };
    ck_assert_msg(world.run_until(grown, 60) >= 0, "%s", world.cluster.story(id).c_str());
}

// The node completes only once the job has been asked.
TEST(a_size_that_waits_for_a_completing_node_is_tried_again) {
    World world({4, 4});
    const uint32_t near = world.cluster.submit_rigid(3, 20, 1, 1);
    const uint32_t far = world.cluster.submit_rigid(4, 3000, 1, 1);
    const uint32_t id = world.cluster.submit_malleable(1, 4, {.steps = 3000, .telemetry_s = 0});
    world.run(10);
    ck_assert_int_eq(world.cluster.job(id).gpus_requested, 1);
    ck_assert(world.cluster.job(far).phase == JobPhase::running);
    const int node = world.cluster.job(near).gpus_on_node.at(0).first;
    const auto is_asked = [&] { return world.cluster.count(EventKind::asked) > 0; };
    ck_assert_msg(world.run_until(is_asked, 60) >= 0, "%s", world.cluster.story().c_str());
    world.cluster.completing_node = node;
    const auto waits = [&] {
        return world.cluster.job(id).phase == JobPhase::pending &&
               world.cluster.job(id).gpus_requested == 4;
    };
    ck_assert_msg(world.run_until(waits, 60) >= 0, "%s", world.cluster.story().c_str());
    world.run(60);
    ck_assert_int_gt(world.cluster.count(EventKind::downsized), 0);
    world.cluster.completing_node = -1;
    const auto has_all = [&] {
        return world.cluster.job(id).phase == JobPhase::running &&
               world.cluster.job(id).gpus_requested == 4;
    };
    ck_assert_msg(world.run_until(has_all, 120) >= 0, "%s", world.cluster.story(id).c_str());
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

// Fault F53, with a tenth of the passes. The cluster refuses everything, so that every pass tries
// again.
TEST(ten_thousand_passes_need_no_more_memory) {
    StillCluster cluster;
    Controller controller(cluster, cluster, quick_options());
    double now_s = 2000;
    for (int i = 0; i < 1000; ++i) now_s = controller.pass(now_s);
    const long before = resident_kib(), said = cluster.written;
    for (int i = 0; i < 10000; ++i) now_s = controller.pass(now_s);
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // sanitizers keep freed memory aside
    ck_assert_msg(resident_kib() - before < 512, "%ld KiB more", resident_kib() - before);
#endif
    (void)before;
    ck_assert_int_eq(cluster.written, said);
    ck_assert_uint_eq(controller.statistics().exceptions, 0);
}

int main() { return ringrt::test::run_all("pacing", 600); }
