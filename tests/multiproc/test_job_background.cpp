// SPDX-License-Identifier: BSD-3-Clause
// Periodic saves of a job handle (ringrt_job.h) while the training continues, in real processes:
// who ends them and when, a resize that comes in between, failures, kill -9.
#include <random>

#include "tests/support/handle_job.h"

using namespace ringrt::test;
using namespace ringrt::records;

namespace {

const Job::Options kOften{
    .environment = {{"RINGRT_SAVE_INTERVAL_S", "1"}, {"RINGRT_TELEMETRY_S", "1"}}};

std::string saves(const Job &job, int rank) {
    return read(job.path("saves." + std::to_string(rank)));
}
void let_write(const Job &job, int rank) {
    std::ofstream(job.path("go." + std::to_string(rank))) << "";
}
uint64_t steps(const Job &job) { return strtoull(job.steps(0).c_str(), nullptr, 10); }

// Each rank writes its own files when the test lets it, or when it must end.
HandleProgram held_back(const Job &job) {
    return {.own_files = true,
            .in_background = true,
            .while_writing = [&job](int rank, const std::atomic<bool> &stop) {
                while (!stop && !fs::exists(job.path("go." + std::to_string(rank)))) usleep(1000);
            }};
}

// Returns the step of the first save that has begun.
uint64_t wait_for_begin(const Job &job) {
    ck_assert(Job::wait_for([&] { return count(saves(job, 0), "\n") > 0; }));
    const std::string text = saves(job, 0);
    ck_assert_msg(text.starts_with("begin "), "%s", text.c_str());
    return strtoull(text.c_str() + 6, nullptr, 10);
}

void train_on(const Job &job, uint64_t more) {
    const uint64_t before = steps(job);
    ck_assert(Job::wait_for([&] { return steps(job) >= before + more; }));
}

}  // namespace

// Training continues until the last rank has written. The scheduler learns the step that was saved,
// not the one at which it ended.
TEST(a_save_ends_when_every_rank_has_written) {
    Job job(kAccept);
    Ranks ranks = start(job, 3, held_back(job), kOften);
    const uint64_t begun = wait_for_begin(job);
    for (const int rank : {2, 0}) {
        let_write(job, rank);
        train_on(job, 20);
        EXPECT_TEXT(saves(job, 0), "begin " + std::to_string(begun) + "\n");
        ck_assert_uint_eq(job.latest_step(), 0);
    }
    let_write(job, 1);
    ck_assert(Job::wait_for([&] { return count(saves(job, 0), "end ") > 0; }));
    std::optional<Telemetry> told;
    ck_assert(Job::wait_for([&] {
        told = parse_telemetry(read(job.path("telemetry")));
        return told && told->ckpt_step > 0;
    }));
    ck_assert_uint_eq(told->ckpt_step, begun);
    ck_assert_uint_ge(told->step, begun + 40);
    job.end_training();
    expect_all(ranks.wait(), kEnded, job);
    for (const int rank : {1, 2}) EXPECT_TEXT(saves(job, rank), saves(job, 0));
    EXPECT_TEXT(job.log(), "");
}

// A resize needs the last step. The save that is under way ends first.
TEST(a_resize_ends_the_save_and_makes_another) {
    for (const int asked : {0, 1, 2}) {
        Job job(kAccept);
        Ranks ranks = start(job, 3, held_back(job), kOften);
        const uint64_t begun = wait_for_begin(job);
        train_on(job, 5);
        ranks.signal(asked, SIGURG);
        expect_left(ranks, 3, job);
        const std::string last = std::to_string(job.latest_step());
        ck_assert_uint_gt(job.latest_step(), begun + 4);
        for (const int rank : {0, 1, 2})
            EXPECT_TEXT(saves(job, rank), "begin " + std::to_string(begun) + "\nend " + last +
                                              "\nsave " + last + "\n");
        const HandleProgram next{.own_files = true};
        Ranks back = start(job, 2, next, {.restart = 1, .steps = job.latest_step() + 10});
        expect_all(back.wait(), kEnded, job);
        expect_samples(job, job.latest_step() + 10);
    }
}

// With saves under way most of the time, from each size to the next: each sample is used once.
TEST(resizes_at_any_moment_lose_no_sample) {
    std::mt19937 random(3);
    for (const bool own_files : {false, true}) {
        const HandleProgram program{.own_files = own_files,
                                    .is_reversed = true,
                                    .in_background = true,
                                    .save_every = 2,
                                    .ballast = 300001};
        Job job(kAccept);
        int restart = 0;
        for (const int size : {3, 1, 5, 2, 3}) {
            Ranks ranks = start(job, size, program, {.restart = restart++});
            expect_training(job, ranks, size);
            usleep(static_cast<useconds_t>(random() % 80000));
            ranks.signal(static_cast<int>(random() % unsigned(size)), SIGURG);
            expect_all(ranks.wait(), kLeft, job);
            for (int r = 0; r < size; ++r) {
                EXPECT_TEXT(job.steps(r), std::to_string(job.latest_step()));
                fs::remove(job.path("step." + std::to_string(r)));
            }
        }
        ck_assert_uint_gt(count(saves(job, 0), "end"), 0);
        const uint64_t last = job.latest_step() + 20;
        Ranks ranks = start(job, 4, program, {.restart = restart, .steps = last});
        expect_all(ranks.wait(), kEnded, job);
        expect_samples(job, last);
        ck_assert_uint_gt(job.latest_step(), last - 20);  // the last save was ended as well
    }
}

// kill -9 at random moments, most of them within a save: the older checkpoint remains, and a save
// that is there is whole and of the step that it names.
TEST(a_rank_killed_within_a_save_leaves_the_older_one) {
    std::mt19937 random(11);
    for (const bool own_files : {false, true}) {
        const HandleProgram program{
            .own_files = own_files, .in_background = true, .save_every = 1, .ballast = 400003};
        Job job(kAccept);
        int restart = 0;
        uint64_t saved = 0;
        for (const int size : {3, 2, 5, 3, 4, 2, 3, 5}) {
            Ranks ranks = start(job, size, program, {.restart = restart++});
            ck_assert(Job::wait_for([&] { return job.latest_step() > saved; }));
            usleep(static_cast<useconds_t>(random() % 60000));
            ranks.signal(static_cast<int>(random() % unsigned(size)), SIGKILL);
            for (const int ended : ranks.wait())
                ck_assert_msg(ended == 1000 + SIGKILL || ended == 100 + RINGRT_PEER_LOST, "%d\n%s",
                              ended, job.log().c_str());
            ck_assert_uint_ge(job.latest_step(), saved);
            saved = job.latest_step();
            for (int r = 0; r < size; ++r) fs::remove(job.path("step." + std::to_string(r)));
        }
        Ranks last = start(job, 4, program, {.restart = restart, .steps = saved + 10});
        expect_all(last.wait(), kEnded, job);
        expect_log(job, "resumed from step " + std::to_string(saved));
        expect_samples(job, saved + 10, true);
    }
}

// kill -9 between the end of a save and its report.
TEST(a_rank_killed_before_its_report_loses_nothing) {
    for (const int victim : {0, 2}) {
        Job job(kAccept);
        const HandleProgram program{
            .in_background = true, .save_every = 7, .before_saved = [victim](int rank, uint64_t) {
                if (rank == victim) raise(SIGKILL);
            }};
        Ranks ranks = start(job, 3, program);
        const std::vector<int> ended = ranks.wait();
        for (int r = 0; r < 3; ++r)
            ck_assert_int_eq(ended[size_t(r)],
                             r == victim ? 1000 + SIGKILL : 100 + RINGRT_PEER_LOST);
        ck_assert_uint_eq(job.latest_step(), 7);
        Ranks next = start(job, 2, HandleProgram{}, {.restart = 1, .steps = 20});
        expect_all(next.wait(), kEnded, job);
        expect_log(job, "resumed from step 7");
        expect_samples(job, 20, true);
    }
}

TEST(a_save_that_cannot_begin_is_told_and_training_continues) {
    for (const int at : {0, 2, kAllRanks}) {
        Job job(kAccept);
        Ranks ranks = start(
            job, 3, {.own_files = true, .in_background = true, .fails_to_begin_at = at}, kOften);
        const std::string rank = std::to_string(std::max(at, 0));
        expect_goes_on(
            ranks, job,
            "the program's save failed at rank " + rank + ": system error: training continues\n");
        // The ranks that have begun must end their parts.
        ck_assert_uint_eq(count(saves(job, 1), "end") > 0, at != kAllRanks);
        const auto told = parse_telemetry(read(job.path("telemetry")));
        ck_assert(told && told->ckpt_step == 0);
    }
}

TEST(a_part_that_fails_is_told_and_training_continues) {
    Job job(kAccept);
    Ranks ranks =
        start(job, 3, {.own_files = true, .fails_at_rank = 1, .in_background = true}, kOften);
    expect_goes_on(ranks, job, "save failed at rank 1: system error: training continues\n");
}

// A save that fails does not call off the resize that waits: it needs another save in any case.
TEST(a_resize_goes_on_after_a_save_that_failed) {
    Job job(kAccept);
    HandleProgram program = held_back(job);
    program.fails_to_begin_at = 1;
    program.save_every = 0;
    Ranks ranks = start(job, 3, program, kOften);
    const uint64_t begun = wait_for_begin(job);
    train_on(job, 3);
    ranks.signal(2, SIGURG);
    expect_left(ranks, 3, job);
    ck_assert_uint_gt(job.latest_step(), begun);
    expect_log(job, "save failed at rank 1: system error: training continues\n");
}

// The administrator or the user may forbid them.
TEST(saves_are_inline_if_the_environment_says_so) {
    Job job(kAccept);
    Job::Options options = kOften;
    options.environment.emplace_back("RINGRT_SAVE_INLINE", "1");
    Ranks ranks = start(job, 2, {.in_background = true}, options);
    ck_assert(Job::wait_for([&] { return job.latest_step() > 0; }));
    job.end_training();
    expect_all(ranks.wait(), kEnded, job);
    ck_assert_uint_gt(count(saves(job, 0), "save"), 0);
    ck_assert_uint_eq(count(saves(job, 0), "begin"), 0);
}

int main() { return run_all("job_background"); }
