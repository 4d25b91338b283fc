// SPDX-License-Identifier: BSD-3-Clause
// Resizes as the ranks see them: real processes, real signals, real checkpoints on disk, and a
// script in place of Slurm that gives the configured answers.
#include "slurm_plugin/records/unix_time.h"
#include "tests/support/step_job.h"

using namespace ringrt::test;
using ringrt::records::parse_telemetry;

TEST(a_signal_to_one_rank_makes_all_leave_at_one_step) {
    for (int chosen : {0, 3}) {
        Job job(kAccept);
        Ranks ranks = start(job, 4);
        expect_training(job, ranks, 4);
        ranks.signal(chosen, SIGURG);
        expect_left(ranks, 4, job);
    }
}

TEST(signals_at_different_times_make_one_resize) {
    for (int delay_us : {0, 500, 2000, 7000}) {
        Job job(kAccept);
        Ranks ranks = start(job, 4);
        expect_training(job, ranks, 4);
        for (int r = 3; r >= 0; --r, usleep(static_cast<useconds_t>(delay_us)))
            ranks.signal(r, SIGURG);
        expect_left(ranks, 4, job);
    }
}

// F07
TEST(a_hundred_signals_make_one_resize) {
    Job job(kAccept);
    Ranks ranks = start(job, 3);
    expect_training(job, ranks, 3);
    for (int i = 0; i < 100; ++i)
        for (int r = 0; r < 3; ++r) ranks.signal(r, SIGURG), usleep(100);
    expect_left(ranks, 3, job);
    size_t checkpoints = 0;
    for (auto &entry : fs::directory_iterator(job.path("ckpt")))
        checkpoints += entry.path().filename().string().starts_with("step-");
    ck_assert_uint_eq(checkpoints, 1);
}

// F05: before ringrt_init() SIGURG is ignored; between ringrt_init() and the first step it is kept.
TEST(a_signal_before_the_first_step_is_handled_there) {
    Job job(kAccept);
    Job::Options options;
    options.at_step = [](int rank, uint64_t step) {
        if (rank == 1 && step == 1) raise(SIGURG);
    };
    Ranks ranks = start(job, 2, options);
    for (int i = 0; i < 20; ++i, usleep(500)) ranks.signal(0, SIGURG);
    expect_left(ranks, 2, job);
}

TEST(another_signal_can_be_chosen) {
    Job job(kAccept);
    Job::Options options;
    options.environment = {{"RINGRT_SIGNAL", "USR2"}};
    Ranks ranks = start(job, 2, options);
    expect_training(job, ranks, 2);
    ranks.signal(1, SIGUSR2);
    expect_left(ranks, 2, job);
}

// F07: SIGTERM during the save ends the job, and it is not requeued in addition.
TEST(sigterm_during_the_save_ends_after_it_without_a_requeue) {
    Job job(kAccept);
    Job::Options options;
    options.floats = 32 << 20;
    Ranks ranks = start(job, 2, options);
    expect_training(job, ranks, 2);
    ranks.signal(0, SIGURG);
    ck_assert(Job::wait_for([&] {
        for (auto &entry : fs::directory_iterator(job.path("ckpt")))
            if (entry.path().filename().string().starts_with(".tmp-")) return true;
        return false;
    }));
    for (int r = 0; r < 2; ++r) ranks.signal(r, SIGTERM);
    expect_all(ranks.wait(), kLeft, job);
    expect_log(job, ", ended by SIGTERM");
    ck_assert_uint_eq(count(job.calls(), "requeue"), 0);
    EXPECT_TEXT(job.steps(0), std::to_string(job.latest_step()));
}

TEST(a_refused_requeue_is_called_off_and_training_continues) {
    Job job(kRefuse);
    Ranks ranks = start(job, 3);
    expect_training(job, ranks, 3);
    ranks.signal(2, SIGURG);
    expect_goes_on(ranks, job,
                   "but Slurm refused the requeue (Requested operation is presently disabled for "
                   "job 7): submit with --requeue, and check that scontrol runs in the job: resize "
                   "called off, training continues with 3 GPUs");
    ck_assert_uint_eq(count(job.calls(), "requeue incomplete 7\n"), 1);
}

// As in a container: saving would cost training time whenever the scheduler asks.
TEST(a_job_that_cannot_reach_slurm_saves_nothing_for_it) {
    Job job(kAccept);
    fs::remove(job.path("scontrol"));
    Ranks ranks = start(job, 2);
    expect_training(job, ranks, 2);
    ranks.signal(1, SIGURG);
    expect_goes_on(ranks, job,
                   "signalled to save, but there is neither a channel to Slurm nor " +
                       job.path("scontrol") +
                       " in the job: resize called off, training continues with 2 GPUs");
    ck_assert_uint_eq(job.latest_step(), 0);
}

TEST(a_hanging_requeue_is_called_off) {
    Job job("exec sleep 1000");
    Ranks ranks = start(job, 2);
    expect_training(job, ranks, 2);
    ranks.signal(0, SIGURG);
    expect_goes_on(ranks, job,
                   "slurmctld did not answer within 3 s (no answer): resize called off, training "
                   "continues with 2 GPUs");
}

TEST(a_requeue_without_sigterm_is_retried_and_called_off) {
    Job job("exit 0");
    Ranks ranks = start(job, 2);
    expect_training(job, ranks, 2);
    ranks.signal(0, SIGURG);
    expect_goes_on(
        ranks, job,
        "no SIGTERM within 3 s of the requeue: resize called off, training continues with 2 GPUs");
    ck_assert_uint_ge(count(job.calls(), "requeue incomplete 7\n"), 2);
    ck_assert_uint_le(count(job.calls(), "requeue incomplete 7\n"), 4);
}

// After a resize was called off, SIGTERM ends a rank again.
TEST(sigterm_is_the_programs_again_after_a_call_off) {
    Job job(kRefuse);
    Ranks ranks = start(job, 1);
    expect_training(job, ranks, 1);
    ranks.signal(0, SIGURG);
    ck_assert(Job::wait_for([&] { return count(job.log(), "called off") == 1; }));
    usleep(20000);
    ranks.signal(0, SIGTERM);
    expect_all(ranks.wait(), 1000 + SIGTERM, job);
}

TEST(a_slow_slurmctld_is_asked_until_it_answers) {
    Job job(
        std::string(
            "if [ $(grep -c requeue calls) -lt 3 ]; then echo 'Unable to contact slurm controller "
            "(connect failure)' >&2; exit 1; fi; ") +
        kAccept);
    Job::Options options;
    options.environment = {{"RINGRT_LEAVE_TIMEOUT_S", "20"}};
    Ranks ranks = start(job, 2, options);
    expect_training(job, ranks, 2);
    ranks.signal(0, SIGURG);
    expect_all(ranks.wait(), kLeft, job);
    ck_assert_uint_eq(count(job.calls(), "requeue incomplete 7\n"), 3);
}

TEST(a_save_that_fails_calls_the_resize_off) {
    Job job(kAccept);
    Ranks ranks = start(job, 2);
    expect_training(job, ranks, 2);
    fs::rename(job.path("ckpt"), job.path("elsewhere"));
    std::ofstream(job.path("ckpt")) << "a file in the directory's place";
    ranks.signal(0, SIGURG);
    expect_goes_on(ranks, job, "resize called off, training continues with 2 GPUs");
    expect_log(job, "checkpoint failed: ");
    ck_assert_uint_eq(count(job.calls(), "requeue"), 0);
}

TEST(a_failed_periodic_save_is_reported_and_training_continues) {
    for (const char *save_inline : {"0", "1"}) {
        Job job(kAccept);
        Job::Options options;
        options.environment = {{"RINGRT_SAVE_INTERVAL_S", "1"},
                               {"RINGRT_SAVE_INLINE", save_inline}};
        Ranks ranks = start(job, 2, options);
        expect_training(job, ranks, 2);
        fs::rename(job.path("ckpt"), job.path("elsewhere"));
        std::ofstream(job.path("ckpt")) << "a file in the directory's place";
        expect_goes_on(ranks, job, ": training continues\n");
    }
}

// A chain of sizes. Every weight records how many samples were seen.
TEST(a_job_is_resized_up_and_down_without_losing_a_step) {
    Job job(kAccept);
    int restart = 0;
    for (int size : {1, 2, 4, 2, 1}) {
        Ranks ranks = start(job, size, {.restart = restart++});
        ck_assert(job.wait_until_training(size));
        usleep(60000);
        ranks.signal(size - 1, SIGURG);
        expect_all(ranks.wait(), kLeft, job);
        for (int r = 0; r < 4; ++r) fs::remove(job.path("step." + std::to_string(r)));
    }
    Ranks ranks = start(job, 4, {.restart = restart, .steps = job.latest_step() + 200});
    expect_all(ranks.wait(), kEnded, job);
    expect_log(job, "resumed from step ", 5);
    expect_log(job, " on 4 GPUs (was 2), load ");
    auto told = parse_telemetry(read(job.path("telemetry")));
    ck_assert(told.has_value() && told->up);
    ck_assert_int_eq(told->gpus, 4);
    ck_assert_int_eq(told->run, 5);
    ck_assert_int_eq(told->samples, 3);  // the checkpoints carried the speeds at 1, 2 and 4 ranks
    ck_assert_msg(count(job.calls(), "update JobId=7 Comment=mine ringrt/1 run=5 gpus=4") >= 1,
                  "%s", job.calls().c_str());
}

// A first step that compiles for half a second belongs to the run's start-up.
TEST(training_begins_when_its_first_step_would_have_begun) {
    Job job(kAccept);
    const double started_s = ringrt::unix_now_s();
    const auto compile = [](int, uint64_t step) {
        if (step == 1) usleep(500'000);
    };
    Ranks ranks = start(job, 2, {.steps = 100, .at_step = compile});
    expect_all(ranks.wait(), kEnded, job);
    const auto told = parse_telemetry(read(job.path("telemetry")));
    ck_assert(told.has_value());
    ck_assert_double_gt(told->began_s, started_s + 0.4);
    ck_assert_double_lt(told->began_s, ringrt::unix_now_s() - 0.1);
}

// The life of one rank that sums gradients up to step `to`. The backward pass takes `layer_ms` for
// each of two layers.
int train_gradients(const Job &job, int rank, int size, uint64_t to, int layer_ms) {
    setenv("RINGRT_CHECKPOINT_DIR", job.path("ckpt").c_str(), 1);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank;
    config.size = size;
    config.global_batch = 48;
    ringrt_t *rt = nullptr;
    if (ringrt_init(&rt, &config) != RINGRT_OK) return 1;
    std::vector<float> layers[2] = {std::vector<float>(1000), std::vector<float>(2000)};
    float w = 0;
    uint64_t step = 0;
    int id = 0, bad = 0;
    bad += ringrt_register(rt, "w", &w, RINGRT_FLOAT32, 0, nullptr) != RINGRT_OK;
    for (auto &layer : layers)
        bad += ringrt_gradient_register(rt, "g", layer.size(), RINGRT_FLOAT32, RINGRT_SUM, &id) !=
               RINGRT_OK;
    const ringrt_status_t restored = ringrt_restore(rt, &step);
    bad += restored != RINGRT_OK && restored != RINGRT_NOT_FOUND;
    ringrt_action_t action;
    while (bad == 0 && step < to) {
        for (int g : {1, 0}) {
            usleep(static_cast<useconds_t>(layer_ms * 1000));
            bad += ringrt_gradient_ready(rt, g, layers[g].data()) != RINGRT_OK;
        }
        for (int g : {0, 1}) bad += ringrt_gradient_wait(rt, g, nullptr) != RINGRT_OK;
        bad += ringrt_step(rt, ++step, &action) != RINGRT_OK;
    }
    bad += ringrt_save(rt, step) != RINGRT_OK;
    return bad + (ringrt_finalize(rt) != RINGRT_OK);
}

// From the newest manifest's line "gradients 1 VERSION SAMPLES GBPS ALPHA 2 BYTES READY FORWARD …".
std::vector<double> learned_in(const Job &job) {
    char directory[32];
    snprintf(directory, sizeof directory, "/step-%012llu",
             static_cast<unsigned long long>(job.latest_step()));
    std::istringstream manifest(read(job.path("ckpt") + directory + "/manifest"));
    std::vector<double> out;
    for (std::string line; std::getline(manifest, line);) {
        if (!line.starts_with("gradients 1 ")) continue;
        std::istringstream words(line.substr(strlen("gradients ")));
        for (double word; words >> word;) out.push_back(word);
    }
    return out;
}

// For a program that specifies only its loss goal, the remaining work is reported to the scheduler,
// and again at once after a restart.
TEST(steps_left_follow_from_the_loss_over_a_resize) {
    Job job(kAccept);
    const Job::Options kByLoss{.steps = 2000, .loss_goal = 0.5};
    Ranks ranks = start(job, 2, kByLoss);
    ck_assert(Job::wait_for([&] { return strtoull(job.steps(0).c_str(), nullptr, 10) >= 200; }));
    ranks.signal(0, SIGURG);
    expect_left(ranks, 2, job);
    Job::Options again = kByLoss;
    again.restart = 1;
    Ranks back = start(job, 1, again);
    std::optional<ringrt::records::Telemetry> told;
    ck_assert(Job::wait_for([&] {
        told = parse_telemetry(read(job.path("telemetry")));
        return told && told->run == 1 && told->step > 0;
    }));
    const double left = 2000 - static_cast<double>(told->step);
    ck_assert_double_eq_tol(static_cast<double>(told->steps_left), left, 0.2 * left);
    back.signal(0, SIGKILL);
    (void)back.wait();
}

TEST(learned_gradients_survive_a_resize) {
    Job job(kAccept);
    expect_all(Ranks(2, [&](int r) { return train_gradients(job, r, 2, 6, 40); }).wait(), 0, job);
    std::vector<double> learned = learned_in(job);
    ck_assert_uint_eq(learned.size(), 6 + 2 * 3);
    ck_assert_double_eq(learned[2], 24);    // samples per rank
    ck_assert_double_gt(learned[7], 60e3);  // the first layer is ready last, after two layers
    expect_all(Ranks(4, [&](int r) { return train_gradients(job, r, 4, 7, 0); }).wait(), 0, job);
    learned = learned_in(job);
    ck_assert_double_eq(learned[2], 12);
    ck_assert_double_gt(learned[7],
                        60e3 / 2 * 0.6);  // half the samples; one step that takes no time
}

// F01
TEST(a_killed_rank_ends_all_in_time_and_is_named) {
    for (int victim : {0, 1, 3}) {
        Job job(kAccept);
        Job::Options options;
        options.environment = {{"RINGRT_SAVE_INTERVAL_S", "1"}};
        Ranks ranks = start(job, 4, options);
        ck_assert(Job::wait_for([&] { return job.latest_step() > 0; }));
        usleep(200000);  // until all ranks have seen it
        ranks.signal(victim, SIGKILL);
        std::vector<int> ended = ranks.wait(10);
        for (int r = 0; r < 4; ++r)
            ck_assert_msg(
                ended[size_t(r)] == (r == victim ? 1000 + SIGKILL : 100 + RINGRT_PEER_LOST),
                "rank %d: %d\n%s", r, ended[size_t(r)], job.log().c_str());
        expect_log(job, "last checkpoint: step ", 3);
        ck_assert_msg(count(job.log(), "rank " + std::to_string(victim)) >= 3, "%s",
                      job.log().c_str());
        ck_assert_uint_eq(count(job.calls(), "requeue"), 0);
    }
}

// F09
TEST(a_program_that_exits_is_not_requeued) {
    Job job(kAccept);
    Job::Options options;
    options.at_step = [](int rank, uint64_t step) {
        if (step == 50) raise(SIGURG);
        if (step == 50 && rank == 1) _exit(42);
    };
    Ranks ranks = start(job, 2, options);
    std::vector<int> ended = ranks.wait(10);
    ck_assert_int_eq(ended[1], 42);
    ck_assert_int_eq(ended[0], 100 + RINGRT_PEER_LOST);
    ck_assert_uint_eq(count(job.calls(), "requeue"), 0);
}

// F17
TEST(an_old_incarnation_stops_when_a_new_one_started) {
    Job job(kAccept);
    Job::Options forever;
    forever.environment = {{"RINGRT_SAVE_INTERVAL_S", "1"}};
    Ranks old_ranks = start(job, 2, forever);
    ck_assert(Job::wait_for([&] { return job.latest_step() > 0; }));
    Ranks new_ranks = start(job, 2, {.restart = 1});
    expect_all(old_ranks.wait(), 100 + RINGRT_SUPERSEDED, job);
    expect_log(job, "superseded by restart 1", 2);
    job.end_training();
    expect_all(new_ranks.wait(), kEnded, job);
}

TEST(periodic_saves_run_during_training) {
    for (const char *save_inline : {"0", "1"}) {
        Job job(kAccept);
        Job::Options options;
        options.steps = 1500;
        options.environment = {{"RINGRT_SAVE_INTERVAL_S", "1"},
                               {"RINGRT_SAVE_INLINE", save_inline}};
        Ranks ranks = start(job, 2, options);
        expect_all(ranks.wait(), kEnded, job);
        ck_assert_uint_gt(job.latest_step(), 300);
        EXPECT_TEXT(job.log(), "");
    }
}

int main() { return run_all("step"); }
