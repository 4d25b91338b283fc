// SPDX-License-Identifier: BSD-3-Clause
// The job handle (ringrt_job.h) in real processes: resizes, failures between its calls, kill -9.
#include <random>

#include "tests/support/handle_job.h"

using namespace ringrt::test;
using namespace ringrt::records;

namespace {

const std::array kPrograms = {HandleProgram{}, HandleProgram{.own_files = true},
                              HandleProgram{.is_reversed = true}};

// Signals one rank after a while, and expects that all leave after the same saved step.
uint64_t resize_away(const Job &job, int size, const HandleProgram &program, int restart,
                     std::mt19937 &random) {
    Ranks ranks = start(job, size, program, {.restart = restart});
    expect_training(job, ranks, size);
    usleep(static_cast<useconds_t>(random() % 60000));
    ranks.signal(static_cast<int>(random() % unsigned(size)), SIGURG);
    expect_all(ranks.wait(), kLeft, job);
    const std::string step = std::to_string(job.latest_step());
    for (int r = 0; r < size; ++r) EXPECT_TEXT(job.steps(r), step);
    expect_log(job, "ringrt: job 7: signalled to save at step " + step + ": saved in ");
    for (int r = 0; r < size; ++r) fs::remove(job.path("step." + std::to_string(r)));
    return job.latest_step();
}

std::optional<Telemetry> telemetry_of(const Job &job, int run) {
    std::optional<Telemetry> told;
    (void)Job::wait_for([&] {
        told = parse_telemetry(read(job.path("telemetry")));
        return told && told->run == run && told->step_ms > 0;
    });
    return told;
}

}  // namespace

// From each size to the next, at random moments: each sample is used once.
TEST(each_sample_is_used_once_over_resizes) {
    std::mt19937 random(5);
    for (const HandleProgram &program : kPrograms) {
        Job job(kAccept);
        int restart = 0;
        for (int size : {1, 2, 3, 5, 2}) (void)resize_away(job, size, program, restart++, random);
        ck_assert_uint_eq(count(job.calls(), "requeue incomplete 7\n"), size_t(restart));
        const uint64_t saved = job.latest_step();
        Ranks last = start(job, 3, program, {.restart = restart, .steps = saved + 20});
        expect_all(last.wait(), kEnded, job);
        expect_samples(job, saved + 20);
        expect_log(job, "resumed from step", 5);
    }
}

// The scheduler learns the speed at each size, over resizes, and what is left.
TEST(the_scheduler_learns_over_resizes) {
    for (const HandleProgram &program : kPrograms) {
        Job job(kAccept);
        const Job::Options often{.environment = {{"RINGRT_TELEMETRY_S", "1"}}};
        Ranks ranks = start(job, 2, program, often);
        const auto first = telemetry_of(job, 0);
        ck_assert(first && first->gpus == 2 && first->up && first->batch == kHandleBatch);
        ranks.signal(0, SIGURG);
        expect_all(ranks.wait(), kLeft, job);
        Job::Options again = often;
        again.restart = 1;
        Ranks back = start(job, 3, program, again);
        const auto second = telemetry_of(job, 1);
        ck_assert(second && second->gpus == 3 && second->ckpt_step > 0);
        ck_assert_uint_ge(second->step, second->ckpt_step);
        ck_assert_uint_eq(second->trained, second->step * kHandleBatch);
        ck_assert_int_eq(second->steps_left, static_cast<int64_t>(kUntilTold - second->step));
        ck_assert_int_eq(second->samples, 2);
        ck_assert(second->speed[0].gpus == 2 && second->speed[1].gpus == 3);
        job.end_training();
        expect_all(back.wait(), kEnded, job);
    }
}

TEST(the_scheduler_learns_what_the_program_plans) {
    Job job(kAccept);
    const HandleProgram program{.planned_speeds = {{5, 3.5}, {2, 8}, {1, 16.25}}};
    Ranks ranks = start(job, 2, program, {.environment = {{"RINGRT_TELEMETRY_S", "1"}}});
    const auto told = telemetry_of(job, 0);
    ck_assert(told && told->planned_sizes == 3);
    const std::array<SpeedSample, 3> expected = {SpeedSample{1, 16.25}, {2, 8}, {5, 3.5}};
    for (size_t i = 0; i < expected.size(); ++i)
        ck_assert(told->planned[i].gpus == expected[i].gpus &&
                  told->planned[i].step_ms == expected[i].step_ms);
    job.end_training();
    expect_all(ranks.wait(), kEnded, job);
}

TEST(periodic_saves_go_on) {
    for (const HandleProgram &program : kPrograms) {
        Job job(kAccept);
        Job::Options options{.environment = {{"RINGRT_SAVE_INTERVAL_S", "1"}}};
        Ranks ranks = start(job, 2, program, options);
        ck_assert(Job::wait_for([&] { return job.latest_step() > 0; }));
        const uint64_t first = job.latest_step();
        ck_assert(Job::wait_for([&] { return job.latest_step() > first; }));
        job.end_training();
        expect_all(ranks.wait(), kEnded, job);
        EXPECT_TEXT(job.log(), "");
        ck_assert_uint_eq(count(job.calls(), "requeue"), 0);
    }
}

TEST(a_save_that_fails_at_one_rank_calls_the_resize_off) {
    for (int victim : {0, 1, 2}) {
        Job job(kAccept);
        Ranks ranks = start(job, 3, {.own_files = true, .fails_at_rank = victim});
        expect_training(job, ranks, 3);
        ranks.signal(1, SIGURG);
        expect_goes_on(ranks, job,
                       "the program's save failed at rank " + std::to_string(victim) +
                           ": system error: resize called off, training continues with 3 GPUs");
        ck_assert_uint_eq(count(job.calls(), "requeue"), 0);
    }
}

TEST(a_refused_requeue_calls_the_resize_off) {
    for (const HandleProgram &program : kPrograms) {
        Job job(kRefuse);
        Ranks ranks = start(job, 2, program);
        expect_training(job, ranks, 2);
        ranks.signal(0, SIGURG);
        expect_goes_on(ranks, job, ": resize called off, training continues with 2 GPUs");
        expect_log(job, "Slurm refused the requeue");
    }
}

// kill -9 of a rank between its save and its report: no rank leaves, and the next run has the step.
TEST(a_rank_killed_between_save_and_report_loses_nothing) {
    for (const bool own_files : {false, true})
        for (const int victim : {0, 1, 2}) {
            Job job(kAccept);
            const HandleProgram program{.own_files = own_files,
                                        .before_saved = [victim](int rank, uint64_t) {
                                            if (rank == victim) raise(SIGKILL);
                                        }};
            Ranks ranks = start(job, 3, program);
            expect_training(job, ranks, 3);
            ranks.signal(0, SIGURG);
            const std::vector<int> ended = ranks.wait();
            for (int r = 0; r < 3; ++r)
                ck_assert_msg(
                    ended[size_t(r)] == (r == victim ? 1000 + SIGKILL : 100 + RINGRT_PEER_LOST),
                    "rank %d: %d\n%s", r, ended[size_t(r)], job.log().c_str());
            ck_assert_uint_eq(count(job.calls(), "requeue"), 0);
            const uint64_t saved = job.latest_step();
            ck_assert_uint_gt(saved, 0);
            const HandleProgram whole{.own_files = own_files};
            Ranks next = start(job, 2, whole, {.restart = 1, .steps = saved + 10});
            expect_all(next.wait(), kEnded, job);
            expect_log(job, "resumed from step " + std::to_string(saved));
            expect_samples(job, saved + 10);
        }
}

// kill -9 at random moments, also within saves: no sample is lost.
TEST(a_rank_killed_at_any_moment_loses_no_sample) {
    std::mt19937 random(9);
    for (const HandleProgram &program : kPrograms) {
        Job job(kAccept);
        int restart = 0;
        for (int size : {3, 2, 5, 3, 2, 3}) {
            Ranks ranks = start(job, size, program, {.restart = restart++});
            expect_training(job, ranks, size);
            const int asked = static_cast<int>(random() % unsigned(size));
            const int victim = static_cast<int>(random() % unsigned(size));
            usleep(static_cast<useconds_t>(random() % 30000));
            ranks.signal(asked, SIGURG);
            usleep(static_cast<useconds_t>(random() % 20000));
            ranks.signal(victim, SIGKILL);
            for (const int ended : ranks.wait())
                ck_assert_msg(ended == kLeft || ended == 1000 + SIGKILL ||
                                  ended == 1000 + SIGTERM || ended == 100 + RINGRT_PEER_LOST,
                              "%d\n%s", ended, job.log().c_str());
            for (int r = 0; r < size; ++r) fs::remove(job.path("step." + std::to_string(r)));
        }
        const uint64_t saved = job.latest_step();
        Ranks last = start(job, 4, program, {.restart = restart, .steps = saved + 10});
        expect_all(last.wait(), kEnded, job);
        expect_samples(job, saved + 10, true);
    }
}

TEST(an_old_run_stops_when_a_new_one_saves) {
    Job job(kAccept);
    const Job::Options often{.environment = {{"RINGRT_SAVE_INTERVAL_S", "1"}}};
    Ranks old_ranks = start(job, 2, HandleProgram{}, often);
    ck_assert(Job::wait_for([&] { return job.latest_step() > 0; }));
    Ranks new_ranks = start(job, 3, HandleProgram{}, {.restart = 1});
    expect_all(old_ranks.wait(), 100 + RINGRT_SUPERSEDED, job);
    job.end_training();
    expect_all(new_ranks.wait(), kEnded, job);
}

TEST(ranks_at_other_steps_are_named) {
    Job job(kAccept);
    Ranks ranks(2, [&](int rank) {
        job.begin({});
        ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
        const std::string meet = job.path("meet");
        config.rank = rank;
        config.size = 2;
        config.rendezvous = meet.c_str();
        ringrt_comm_t *comm = nullptr;
        ringrt_job_t *handle = nullptr;
        if (ringrt_comm_create(&comm, &config) || ringrt_job_open(&handle, comm, nullptr, nullptr))
            return 1;
        ringrt_action_t action;
        const ringrt_status_t got = ringrt_job_step(handle, 3 + uint64_t(rank), &action);
        fprintf(stderr, "%s\n", ringrt_job_last_error(handle));
        return got == RINGRT_MISMATCH ? kEnded : 1;
    });
    expect_all(ranks.wait(), kEnded, job);
    expect_log(job, "rank 1 is at step 4, rank 0 at step 3", 2);
}

int main() { return run_all("job_handle"); }
