// SPDX-License-Identifier: BSD-3-Clause
// The controller repairs what a killed slurmctld has lost. Failures are reported and survived.
#include <algorithm>
#include <csignal>
#include <stdexcept>

#include "tests/support/agreeing.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

using namespace ringrt::controller;
using namespace ringrt::test;
using ringrt::records::Intent;
using ringrt::records::IntentState;

namespace {

std::string line(double time_s, EventKind kind, Outcome outcome = Outcome::none,
                 uint32_t job_id = 7) {
    return journal_line({.time_s = time_s, .job_id = job_id, .kind = kind, .outcome = outcome}) +
           "\n";
}

// A job that was asked to resize and ended by SIGTERM.
JobRecord taken_down(IntentState state) {
    Intent intent{.gpus_min = 1, .gpus_max = 8, .state = state, .gpus = 4, .target = 2, .run = 1};
    JobRecord job{.id = 7, .phase = JobPhase::finished, .end_s = 995, .restarts = 1};
    job.end = End{.how = End::How::failed, .signal = 15};
    set_intent(job, intent);
    return job;
}

// Its requeue succeeds at the third try.
class Ended final : public Agreeing {
  public:
    RpcStatus requeue_ended(uint32_t) override {
        return ++asked < 3 ? RpcStatus::busy : RpcStatus::ok;
    }
    int asked = 0;
};

// A cluster whose only job follows every request to Slurm.
class Obedient : public Agreeing {
  public:
    RpcStatus requeue_running(uint32_t) override {
        seen.jobs.at(0).phase = JobPhase::pending;  // as the next observation shows it
        ++seen.jobs.at(0).restarts;
        return ++requeued, RpcStatus::ok;
    }
    RpcStatus cancel(uint32_t) override {
        seen.jobs.at(0).phase = JobPhase::finished;
        seen.jobs.at(0).end = End{.how = End::How::cancelled};
        return ++cancelled, RpcStatus::ok;
    }
    RpcStatus requeue_ended(uint32_t) override {
        seen.jobs.at(0).phase = JobPhase::pending;
        seen.jobs.at(0).end.reset();
        ++seen.jobs.at(0).restarts;
        return ++requeued_ended, RpcStatus::ok;
    }
};

// How often a controller started at `begun_s` requests its requeue (3: until it succeeds).
int requeues(const JobRecord &job, double begun_s, double now_s, const std::string &journal = "") {
    Ended cluster;
    Controller controller(cluster, cluster, quick_options());
    controller.restore(read_journal(journal));
    controller.pass(begun_s);
    cluster.seen.jobs = {job};
    for (int i = 0; i < 8; ++i) controller.pass(now_s + i);
    const auto told = std::ranges::count(cluster.said, Outcome::recovered, &Event::outcome);
    ck_assert_int_eq(static_cast<int>(told), cluster.asked == 3);
    for (const Event &event : cluster.said)
        ck_assert(event.kind != EventKind::ended || cluster.asked == 0);
    return cluster.asked;
}

JobRecord running(double start_s = 900) {
    JobRecord job{.id = 7, .phase = JobPhase::running, .start_s = start_s, .gpus_requested = 4};
    set_intent(job, {.gpus_min = 1, .gpus_max = 8});
    job.gpus_on_node = {{0, 4}};
    return job;
}

}  // namespace

// F21: a killed slurmctld lost the requeue of a job that it then sees end by SIGTERM.
TEST(a_job_ended_by_a_lost_requeue_is_requeued) {
    const JobRecord job = taken_down(IntentState::asked);
    ck_assert_int_eq(requeues(job, 990, 1000), 3);
    ck_assert_int_eq(requeues(job, 500, 1000), 0);  // slurmctld was not restarted
    ck_assert_int_eq(requeues(job, 1200, 1300), 0);
    JobRecord other = job;
    other.end->signal = 9;
    ck_assert_int_eq(requeues(other, 990, 1000), 0);
    for (const End::How how : {End::How::cancelled, End::How::by_slurm}) {
        other = job;
        other.end->how = how;
        ck_assert_int_eq(requeues(other, 990, 1000), 0);
    }
    other = job;
    other.restarts = 2;  // it has run again meanwhile
    ck_assert_int_eq(requeues(other, 990, 1000), 0);
}

// The srun of a run that was just starting got no answer from a slurmctld that ended.
TEST(a_start_lost_with_slurmctld_is_retried_once) {
    JobRecord job = taken_down(IntentState::released);
    job.end = End{.how = End::How::failed, .exit_code = 1};
    job.start_s = 985;
    ck_assert_int_eq(requeues(job, 990, 1000), 3);
    ck_assert_int_eq(requeues(job, 900, 1000), 0);   // slurmctld was not restarted
    ck_assert_int_eq(requeues(job, 1001, 1002), 0);  // it had failed before, and slurmctld saw that
    const auto with = [&](auto change) {
        JobRecord other = job;
        change(other);
        return requeues(other, 990, 1000);
    };
    ck_assert_int_eq(with([](JobRecord &other) { other.end->signal = SIGSEGV; }), 0);
    ck_assert_int_eq(with([](JobRecord &other) { other.end->how = End::How::cancelled; }), 0);
    ck_assert_int_eq(with([](JobRecord &other) { other.start_s = 800; }), 0);
    ck_assert_int_eq(with([](JobRecord &other) { other.telemetry = {.run = 1}; }), 0);
    ck_assert_int_eq(with([](JobRecord &other) { other.telemetry = {.run = 0}; }), 3);
    JobRecord first = job;  // like any other job of the site
    first.restarts = 0;
    first.intent->run = 0;
    ck_assert_int_eq(requeues(first, 990, 1000), 0);
}

TEST(a_start_is_not_retried_forever) {
    Ended cluster;
    Controller controller(cluster, cluster, quick_options());
    controller.restore({});
    controller.pass(990);
    JobRecord job = taken_down(IntentState::released);
    job.end = End{.how = End::How::failed, .exit_code = 1};
    job.start_s = 985;
    cluster.seen.jobs = {job};
    for (int i = 0; i < 8; ++i) controller.pass(1000 + i);
    ck_assert_int_eq(cluster.asked, 3);
    cluster.seen.jobs[0].phase = JobPhase::running;
    cluster.seen.jobs[0].restarts = 2;
    cluster.seen.jobs[0].end.reset();
    cluster.seen.jobs[0].end_s = 0;
    controller.pass(1010);
    job.restarts = 2;
    job.intent->run = 2;
    job.start_s = 1011;
    job.end_s = 1012;
    cluster.seen.jobs = {job};
    for (int i = 0; i < 8; ++i) controller.pass(1013 + i);
    ck_assert_int_eq(cluster.asked, 3);
}

// The same if the record of the request was lost with slurmctld: the journal has it.
TEST(a_lost_request_is_read_from_the_journal) {
    JobRecord job = taken_down(IntentState::running);
    ck_assert_int_eq(requeues(job, 990, 1000), 0);
    const std::string asked = line(985, EventKind::asked);
    const std::string released = line(987, EventKind::released, Outcome::none, 8);
    ck_assert_int_eq(requeues(job, 990, 1000, "b=7\n" + asked + "torn\n" + released), 3);
    ck_assert_int_eq(requeues(job, 990, 1000, asked + line(986, EventKind::resized)), 0);
    ck_assert_int_eq(requeues(job, 990, 1000, released), 0);
    job.restarts = 2;
    ck_assert_int_eq(requeues(job, 990, 1000, asked), 0);
}

// C14: a controller restarted within the same slurmctld does not restart slurmctld's start time.
TEST(an_exception_does_not_reset_the_time_since_the_start) {
    Ended cluster;
    Controller controller(cluster, cluster, quick_options());
    controller.restore({}, 800);
    cluster.seen.jobs = {taken_down(IntentState::asked)};
    for (int i = 0; i < 5; ++i) controller.pass(1000 + i);
    ck_assert_int_eq(cluster.asked, 0);
}

// Its grace time ran out while slurmctld was away, but it has left.
TEST(a_resize_of_a_job_that_has_left_is_not_called_off) {
    class Left final : public Obedient {
      public:
        Liveness probe_run(uint32_t) override {
            return seen.jobs.at(0).phase == JobPhase::running ? Liveness::gone : Liveness::alive;
        }
    };
    Left cluster;
    JobRecord job{.id = 7, .phase = JobPhase::running, .start_s = 900};
    set_intent(job, {.gpus_min = 1,
                     .gpus_max = 8,
                     .grace_s = 18,
                     .state = IntentState::asked,
                     .target = 4,
                     .since_s = 950,
                     .asked_s = 950,
                     .run = 0});
    job.gpus_on_node = {{0, 4}};
    cluster.seen.jobs = {job};
    Controller controller(cluster, cluster, quick_options());
    for (double now_s = 965; now_s < 1000; ++now_s) controller.pass(now_s);
    ck_assert_int_eq(cluster.seen.jobs.at(0).restarts, 1);
    for (const Event &event : cluster.said) ck_assert(event.kind != EventKind::called_off);
}

// F21, I9: a killed slurmctld lost a job's end, which the journal records.
TEST(a_job_whose_end_was_forgotten_does_not_run_again) {
    class Forgot final : public Agreeing {
      public:
        RpcStatus complete(uint32_t) override {
            seen.jobs.at(0).phase = JobPhase::finished;
            seen.jobs.at(0).end = End{.how = End::How::completed};
            return ++completed, RpcStatus::ok;
        }
    };
    // Returns whether the job was requeued and completed, and what the controller then writes into
    // the journal.
    const auto after = [](const std::string &journal, std::string *then = nullptr) {
        Forgot cluster;
        cluster.liveness = Liveness::gone;
        cluster.seen.jobs = {running()};
        Controller controller(cluster, cluster, quick_options());
        controller.restore(read_journal(journal));
        for (double now_s = 1000; now_s < 1020; ++now_s) controller.pass(now_s);
        for (const Event &event : cluster.said)
            if (then) *then += journal_line(event) + "\n";
        return std::pair(cluster.requeued > 0, cluster.completed > 0);
    };
    const std::string completed = line(990, EventKind::ended, Outcome::completed);
    std::string written;
    ck_assert(after("") == std::pair(true, false));
    ck_assert(after(completed, &written) == std::pair(false, true));
    ck_assert(after(written) == std::pair(false, true));  // slurmctld killed once more
    for (const Outcome outcome : {Outcome::cancelled, Outcome::by_slurm, Outcome::failed})
        ck_assert(after(line(990, EventKind::ended, outcome)) == std::pair(false, false));
    ck_assert(after(line(990, EventKind::lost, Outcome::failed)) == std::pair(false, false));
    ck_assert(after(line(890, EventKind::ended, Outcome::completed)) ==
              std::pair(true, false));  // an earlier run
    ck_assert(after(completed + line(995, EventKind::released)) == std::pair(true, false));
}

// C5: a node that is asked too early, or does not answer, is asked again until it answers.
TEST(a_young_job_is_probed_until_its_node_has_it) {
    Agreeing cluster;
    cluster.liveness = Liveness::too_early;
    cluster.seen.jobs = {running(998)};
    Controller controller(cluster, cluster, quick_options());
    for (double now_s = 1000; now_s < 1120; ++now_s) controller.pass(now_s);
    ck_assert_int_ge(cluster.probed, 10);
    ck_assert_int_eq(cluster.requeued, 0);
    cluster.liveness = Liveness::gone;
    for (double now_s = 1120; now_s < 1130; ++now_s) controller.pass(now_s);
    ck_assert_int_eq(cluster.requeued, 1);
}

TEST(a_silent_node_is_probed_ever_less_often) {
    Agreeing cluster;
    cluster.liveness = Liveness::unknown;
    cluster.seen.jobs = {running()};
    Controller controller(cluster, cluster, quick_options());
    double now_s = 1000;
    for (; now_s < 2000; ++now_s) controller.pass(now_s);
    ck_assert_msg(cluster.probed >= 6 && cluster.probed <= 10, "%d probes", cluster.probed);
    cluster.liveness = Liveness::alive;
    for (; now_s < 2700; ++now_s) controller.pass(now_s);
    const int probed = cluster.probed;
    for (; now_s < 4000; ++now_s) controller.pass(now_s);
    ck_assert_int_eq(cluster.probed, probed);  // it has answered twice
}

// Slurm 22.05: the requeued job is pending with the nodes of its old run.
TEST(stale_nodes_are_cleared_by_a_cancel_and_a_requeue) {
    class Stale final : public Obedient {
      public:
        RpcStatus requeue_running(uint32_t id) override {
            seen.jobs.at(0).has_stale_nodes = true;
            return Obedient::requeue_running(id);
        }
        RpcStatus requeue_ended(uint32_t id) override {
            if (requeued_ended < 2) return ++requeued_ended, RpcStatus::unreachable;
            seen.jobs.at(0).has_stale_nodes = false;
            return Obedient::requeue_ended(id);
        }
    };
    Stale cluster;
    cluster.liveness = Liveness::gone;
    cluster.seen.jobs = {running()};
    Controller controller(cluster, cluster, quick_options());
    for (double now_s = 1000; now_s < 1020; ++now_s) controller.pass(now_s);
    ck_assert_int_eq(cluster.requeued, 1);
    ck_assert_int_eq(cluster.cancelled, 1);
    ck_assert_int_eq(cluster.requeued_ended, 3);
    for (const Event &event : cluster.said) ck_assert(event.kind != EventKind::ended);
    Agreeing clean;  // a job whose nodes were cleared needs no cancel
    clean.liveness = Liveness::gone;
    clean.seen.jobs = {running()};
    Controller other(clean, clean, quick_options());
    for (double now_s = 1000; now_s < 1005; ++now_s) other.pass(now_s);
    clean.seen.jobs.at(0).phase = JobPhase::pending;
    ++clean.seen.jobs.at(0).restarts;
    for (double now_s = 1005; now_s < 1020; ++now_s) other.pass(now_s);
    ck_assert_int_eq(clean.requeued, 1);
    ck_assert_int_eq(clean.cancelled, 0);
}

// Slurm took the nodes from a run whose end it had lost. If that happened before the requeue, the
// job is cancelled instead of requeued. If it happened with the requeue, the next run has no GPUs.
TEST(a_job_without_nodes_is_cancelled_and_requeued) {
    enum class When { never, before, then };
    class Nodeless final : public Obedient {
      public:
        When when = When::never;
        bool fails = false;  // before it is seen
        RpcStatus requeue_running(uint32_t) override {
            JobRecord &job = seen.jobs.at(0);
            ++job.restarts;
            if (when == When::then) job.gpus_on_node.clear();
            if (when == When::then && fails) {
                job.phase = JobPhase::finished;
                job.end = End{.how = End::How::failed, .exit_code = 1};
                job.start_s = 1010;
                job.end_s = 1011;
            }
            return ++requeued, RpcStatus::ok;
        }
    };
    for (const When when : {When::never, When::before, When::then})
        for (const bool fails : {false, true}) {
            Nodeless cluster;
            cluster.when = when;
            cluster.fails = fails;
            cluster.liveness = Liveness::gone;
            cluster.seen.jobs = {running()};
            if (when == When::before) cluster.seen.jobs.at(0).gpus_on_node.clear();
            Controller controller(cluster, cluster, quick_options());
            for (double now_s = 1000; now_s < 1020; ++now_s) controller.pass(now_s);
            const bool is_cancelled = when == When::before || (when == When::then && !fails);
            ck_assert_int_eq(cluster.requeued, when == When::before ? 0 : 1);
            ck_assert_int_eq(cluster.cancelled, is_cancelled ? 1 : 0);
            ck_assert_int_eq(cluster.requeued_ended, when == When::never ? 0 : 1);
            for (const Event &event : cluster.said) ck_assert(event.kind != EventKind::ended);
        }
}

// Otherwise a job whose end slurmctld has lost would be completed again.
TEST(only_a_completed_job_is_reported_as_ended) {
    const auto said_of = [](End end, bool asked) {
        Agreeing cluster;
        Controller controller(cluster, cluster, quick_options());
        Intent intent{.gpus_min = 1, .gpus_max = 8, .gpus = 4, .run = 0};
        intent.state = asked ? IntentState::asked : IntentState::running;
        if (asked) intent.target = 8, intent.asked_s = 999;
        JobRecord job = running();
        set_intent(job, intent);
        cluster.seen.jobs = {job};
        controller.pass(1000);
        job.phase = JobPhase::finished;
        job.end = end;
        cluster.seen.jobs = {job};
        controller.pass(1001);
        return cluster.said.back();
    };
    const End completed{.how = End::How::completed}, cancelled{.how = End::How::cancelled},
        failed{.how = End::How::failed, .exit_code = 3}, timed_out{.how = End::How::by_slurm};
    EXPECT_TEXT(said_of(completed, false).text, "has ended");
    EXPECT_TEXT(said_of(completed, true).text, "has ended during its resize");
    EXPECT_TEXT(said_of(cancelled, false).text, "was cancelled");
    EXPECT_TEXT(said_of(failed, false).text, "has failed with exit code 3, signal 0");
    EXPECT_TEXT(said_of(timed_out, false).text,
                "was ended by Slurm: its time limit, or a node failure");
    ck_assert(said_of(failed, true).kind == EventKind::lost);
    ck_assert(said_of(completed, true).kind == EventKind::ended);
    ck_assert(said_of(completed, true).outcome == Outcome::completed);
    ck_assert(said_of(cancelled, true).outcome == Outcome::cancelled);
    ck_assert(said_of(failed, false).outcome == Outcome::failed);
    ck_assert(said_of(timed_out, false).outcome == Outcome::by_slurm);
}

TEST(an_event_names_the_jobs_user_and_its_outcome) {
    Event event{.time_s = 5, .job_id = 7, .text = "x"};
    ck_assert(to_json(event).ends_with(",\"gap_s\":0.00,\"text\":\"x\"}"));
    event.outcome = Outcome::resize;
    event.name = "a\"b\n", event.user_id = 1000;
    ck_assert(to_json(event).ends_with(
        ",\"outcome\":\"resize\",\"text\":\"x\",\"name\":\"a\\\"b?\",\"user\":1000}"));
}

// An exception from Slurm's listing ends one pass and is reported.
TEST(a_pass_that_throws_is_reported_and_survived) {
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

TEST(an_absent_slurm_is_reported_once_and_survived) {
    World world({4, 4});
    world.cluster.submit_malleable(1, 8, {.steps = 300});
    world.run(5);
    world.cluster.faults.unreachable = 1;
    world.run(60);
    world.cluster.faults.unreachable = 0;
    ck_assert_int_eq(world.cluster.count(EventKind::error), 1);
    ck_assert_uint_ge(world.controller->statistics().failed_observations, 3);
    expect_all_finish(world, 500, "away");
}

int main() { return ringrt::test::run_all("recovery"); }
