// SPDX-License-Identifier: BSD-3-Clause
// Misuse of the C API: every wrong call returns a status and one line, and the handle keeps
// working.
#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>

#include "tests/support/alone.h"

using namespace ringrt::test;

// Gradients become ready on any thread, and may fail there. Each thread reads a complete line (TSan
// detects a race).
TEST(several_threads_fail_at_once) {
    Alone alone;
    int other_lines = 0;
    std::thread other([&] {
        for (int i = 0; i < 2000; ++i) {
            ringrt_gradient_ready(alone.rt, 0, &alone);
            const std::string line = ringrt_last_error(alone.rt);
            other_lines += line == "no gradient was registered" || line == "out is NULL";
        }
    });
    int lines = 0;
    for (int i = 0; i < 2000; ++i) {
        ringrt_batch(alone.rt, nullptr);
        const std::string line = ringrt_last_error(alone.rt);
        lines += line == "no gradient was registered" || line == "out is NULL";
    }
    other.join();
    ck_assert_int_eq(lines, 2000);
    ck_assert_int_eq(other_lines, 2000);
}

// Otherwise the discarded state would be committed at the next step and restored later.
TEST(a_restore_first_ends_the_save_in_progress) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.save_interval_s = 1;
    Alone alone(config);
    ringrt_action_t action;
    uint64_t step = 0;
    const uint64_t shape[1] = {1};
    float x = 1;
    ck_assert_int_eq(ringrt_register(alone.rt, "x", &x, RINGRT_FLOAT32, 1, shape), RINGRT_OK);
    ck_assert_int_eq(ringrt_save(alone.rt, 1), RINGRT_OK);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    x = 2;
    ck_assert_int_eq(ringrt_step(alone.rt, 2, &action), RINGRT_OK);  // begins a save
    x = 3;
    ck_assert_int_eq(ringrt_restore(alone.rt, &step), RINGRT_OK);
    ck_assert_uint_eq(step, 2);
    ck_assert(x == 2);
}

// A rank that reads or writes files for longer than RINGRT_TIMEOUT_MS does not count as stopped.
TEST(saves_and_restores_wait_for_late_ranks) {
    for (bool in_a_save : {true, false}) {
        TemporaryDirectory directory;
        Ranks ranks(2, [&](int rank) {
            for (const char *name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) unsetenv(name);
            ringrt_config_t config = config_of(rank, 2, directory);
            config.timeout_ms = 3000;
            ringrt_t *rt = nullptr;
            if (ringrt_init(&rt, &config) != RINGRT_OK) return 1;
            ringrt_barrier(rt);
            const auto late = [&] {
                if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5000));
            };
            uint64_t step = 0;
            int failed = 0;
            if (in_a_save) {
                late();
                failed += ringrt_save(rt, 7) != RINGRT_OK;
                late();
                failed += ringrt_restore(rt, &step) != RINGRT_OK || step != 7;
                ringrt_finalize(rt);
                return failed == 0 ? 0 : 2;
            }
            late();  // any other call times out
            failed = ringrt_barrier(rt) != RINGRT_OK;
            ringrt_abort(rt);
            ringrt_finalize(rt);
            return rank == 1 || failed == 1 ? 0 : 3;  // rank 1 finds all ranks there
        });
        for (int status : ranks.wait(60)) ck_assert_int_eq(status, 0);
    }
}

TEST(null_is_refused_everywhere) {
    ringrt_batch_t batch;
    ringrt_action_t action;
    uint64_t step, shape[1] = {1};
    float x = 0;
    ck_assert_int_eq(ringrt_init(nullptr, nullptr), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_finalize(nullptr), RINGRT_OK);
    ck_assert_int_eq(ringrt_abort(nullptr), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_rank(nullptr), -1);
    ck_assert_int_eq(ringrt_size(nullptr), -1);
    ck_assert_int_eq(ringrt_local_rank(nullptr), -1);
    ck_assert_int_eq(ringrt_restarts(nullptr), -1);
    ck_assert_int_eq(ringrt_allreduce(&x, &x, 1, RINGRT_FLOAT32, RINGRT_SUM, nullptr),
                     RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_broadcast(&x, &x, 1, RINGRT_FLOAT32, 0, nullptr),
                     RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_barrier(nullptr), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_batch(nullptr, &batch), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_register(nullptr, "x", &x, RINGRT_FLOAT32, 1, shape),
                     RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_restore(nullptr, &step), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_save(nullptr, 1), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_step(nullptr, 1, &action), RINGRT_INVALID_ARGUMENT);
    expect(nullptr, ringrt_set_steps_left(nullptr, 1), RINGRT_INVALID_ARGUMENT,
           "the handle is NULL");
    ck_assert_int_eq(ringrt_set_samples_left(nullptr, 1), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_set_batch(nullptr, 1), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_set_loss(nullptr, 1, 0), RINGRT_INVALID_ARGUMENT);
    Alone alone;
    ck_assert_int_eq(ringrt_set_loss(alone.rt, 1, 0), RINGRT_OK);
    expect(alone.rt, ringrt_batch(alone.rt, nullptr), RINGRT_INVALID_ARGUMENT, "out is NULL");
    expect(alone.rt, ringrt_allreduce(nullptr, &x, 1, RINGRT_FLOAT32, RINGRT_SUM, alone.rt),
           RINGRT_INVALID_ARGUMENT, "send or recv is NULL");
    expect(alone.rt, ringrt_broadcast(nullptr, &x, 1, RINGRT_FLOAT32, 0, alone.rt),
           RINGRT_INVALID_ARGUMENT, "send or recv is NULL");
    expect(alone.rt, ringrt_restore(alone.rt, nullptr), RINGRT_INVALID_ARGUMENT, "step is NULL");
    expect(alone.rt, ringrt_step(alone.rt, 1, nullptr), RINGRT_INVALID_ARGUMENT, "action is NULL");
}

TEST(bad_buffers_are_refused) {
    Alone alone;
    ringrt_t *rt = alone.rt;
    float x[6] = {};
    const uint64_t shape[2] = {2, 3}, huge[2] = {1ull << 40, 1ull << 40};
    auto f32 = RINGRT_FLOAT32;
    ck_assert_int_eq(ringrt_register(rt, nullptr, x, f32, 2, shape), RINGRT_INVALID_ARGUMENT);
    for (const char *name : {"", "../x", "a b", "a/../b", "/x", "x/"})
        ck_assert_int_eq(ringrt_register(rt, name, x, f32, 2, shape), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_register(rt, std::string(100000, 'x').c_str(), x, f32, 2, shape),
                     RINGRT_INVALID_ARGUMENT);
    expect(rt, ringrt_register(rt, "x", nullptr, f32, 2, shape), RINGRT_INVALID_ARGUMENT,
           "a buffer's data is NULL");
    expect(rt, ringrt_register(rt, "x", x, f32, 2, nullptr), RINGRT_INVALID_ARGUMENT,
           "a buffer's shape is NULL");
    expect(rt, ringrt_register(rt, "x", x, f32, -1, shape), RINGRT_INVALID_ARGUMENT,
           "a buffer has 0 to 16 dimensions");
    expect(rt, ringrt_register(rt, "x", x, f32, 2, huge), RINGRT_INVALID_ARGUMENT,
           "buffer x: larger than 2^60 bytes");
    expect(rt, ringrt_register(rt, "x", x, static_cast<ringrt_dtype_t>(99), 2, shape),
           RINGRT_INVALID_ARGUMENT, "buffer x: unknown type 99");
    expect(rt, ringrt_register_rows(rt, "x", x, f32, 2, shape, 1, 2), RINGRT_INVALID_ARGUMENT,
           "first_row and rows are outside the first extent");
    ck_assert_int_eq(ringrt_register_rows(rt, "x", x, f32, 2, shape, UINT64_MAX, 2),
                     RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_register_rows(rt, "x", x, f32, 0, shape, 0, 1),
                     RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_register(rt, "x", x, f32, 2, shape), RINGRT_OK);
    expect(rt, ringrt_register(rt, "x", x, f32, 2, shape), RINGRT_INVALID_ARGUMENT,
           "a buffer of that name is registered already");
    ck_assert_int_eq(ringrt_save(rt, 1), RINGRT_OK);
}

TEST(outputs_are_set_on_success_only) {
    Alone alone;
    uint64_t step = 77;
    ringrt_batch_t batch = {.global = 77};
    expect(alone.rt, ringrt_restore(alone.rt, &step), RINGRT_NOT_FOUND,
           ("no checkpoint in " + alone.directory.path).c_str());
    ck_assert_uint_eq(step, 77);
    ck_assert_int_eq(ringrt_batch(alone.rt, &batch), RINGRT_INVALID_ARGUMENT);
    ck_assert_uint_eq(batch.global, 77);
    ringrt_t *rt = reinterpret_cast<ringrt_t *>(77);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.struct_size = 8;
    expect(nullptr, ringrt_init(&rt, &config), RINGRT_INVALID_ARGUMENT,
           "config.struct_size is not right: start from RINGRT_CONFIG_INIT");
    ck_assert(rt == reinterpret_cast<ringrt_t *>(77));
}

TEST(a_forked_child_cannot_use_the_handle) {
    Alone alone;
    Ranks child(1, [&](int) {
        ringrt_action_t action;
        uint64_t step = 0;
        bool refused = ringrt_barrier(alone.rt) == RINGRT_FORKED &&
                       ringrt_save(alone.rt, 1) == RINGRT_FORKED &&
                       ringrt_restore(alone.rt, &step) == RINGRT_FORKED &&
                       ringrt_abort(alone.rt) == RINGRT_FORKED &&
                       ringrt_step(alone.rt, 1, &action) == RINGRT_FORKED &&
                       ringrt_finalize(alone.rt) == RINGRT_FORKED;
        return refused ? 0 : 1;
    });
    ck_assert_int_eq(child.wait()[0], 0);
    ck_assert_int_eq(ringrt_barrier(alone.rt), RINGRT_OK);
}

// The child reads its own error line, whichever thread held the handle's lock at the fork.
TEST(a_child_forked_while_another_thread_fails_does_not_hang) {
    Alone alone;
    std::atomic<bool> stop = false;
    std::thread other([&] {
        while (!stop) ringrt_batch(alone.rt, nullptr), ringrt_last_error(alone.rt);
    });
    for (int i = 0; i < 100; ++i) {
        Ranks child(1, [&](int) {
            const char *line = "this handle belongs to the process that fork()ed this one";
            if (ringrt_barrier(alone.rt) != RINGRT_FORKED) return 1;
            return std::string(ringrt_last_error(alone.rt)) == line ? 0 : 2;
        });
        ck_assert_int_eq(child.wait(20 * kTimeoutScale)[0], 0);
    }
    stop = true;
    other.join();
}

TEST(gradients_without_type_or_operation_are_refused_at_registration) {
    Alone alone;
    int id = -1;
    const char *line = "dtype or op is not one of ringrt.h, or it is the average of bool";
    expect(alone.rt, ringrt_gradient_register(alone.rt, "g", 4, RINGRT_BOOL, RINGRT_AVG, &id),
           RINGRT_INVALID_ARGUMENT, line);
    expect(alone.rt,
           ringrt_gradient_register(alone.rt, "g", 4, static_cast<ringrt_dtype_t>(99), RINGRT_SUM,
                                    &id),
           RINGRT_INVALID_ARGUMENT, line);
    expect(alone.rt,
           ringrt_gradient_register(alone.rt, "g", 4, RINGRT_FLOAT32, static_cast<ringrt_op_t>(99),
                                    &id),
           RINGRT_INVALID_ARGUMENT, line);
    ck_assert_int_eq(id, -1);
    ck_assert_int_eq(ringrt_gradient_register(alone.rt, "g", 4, RINGRT_FLOAT16, RINGRT_AVG, &id),
                     RINGRT_OK);
    ck_assert_int_eq(id, 0);
}

TEST(an_unknown_grouping_rule_is_refused_at_registration) {
    Alone alone;
    int id = -1;
    setenv("RINGRT_GROUPING", "fastest", 1);
    const ringrt_status_t refused =
        ringrt_gradient_register(alone.rt, "g", 4, RINGRT_FLOAT32, RINGRT_SUM, &id);
    unsetenv("RINGRT_GROUPING");
    expect(alone.rt, refused, RINGRT_INVALID_ARGUMENT,
           "RINGRT_GROUPING: expected fifo, ddp, fusion, mgwfbp, tictac, p3, bytescheduler, "
           "priority, dear, prophet or predictive, got \"fastest\"");
    ck_assert_int_eq(ringrt_gradient_register(alone.rt, "g", 4, RINGRT_FLOAT32, RINGRT_SUM, &id),
                     RINGRT_OK);
}

TEST(a_request_that_is_null_is_refused) {
    int done = 7;
    expect(nullptr, ringrt_wait(nullptr), RINGRT_INVALID_ARGUMENT, "request is NULL");
    expect(nullptr, ringrt_test(nullptr, &done), RINGRT_INVALID_ARGUMENT, "request is NULL");
    ck_assert_int_eq(done, 7);
}

// A loop that only polls `done` ends.
TEST(an_aborted_operation_is_done) {
    Alone alone;
    float value = 3, sum = 0;
    ringrt_request_t *request = nullptr;
    ck_assert_int_eq(
        ringrt_allreduce_start(&value, &sum, 1, RINGRT_FLOAT32, RINGRT_SUM, 0, alone.rt, &request),
        RINGRT_OK);
    ck_assert_int_eq(ringrt_abort(alone.rt), RINGRT_OK);
    int done = 0;
    expect(nullptr, ringrt_test(request, nullptr), RINGRT_INVALID_ARGUMENT, "done is NULL");
    while (!done) ck_assert_int_eq(ringrt_test(request, &done), RINGRT_OK);
    expect(alone.rt, ringrt_wait(request), RINGRT_ABORTED, "ringrt_abort() was called");
}

TEST(an_aborted_handle_returns_aborted) {
    Alone alone;
    ck_assert_int_eq(ringrt_abort(alone.rt), RINGRT_OK);
    expect(alone.rt, ringrt_barrier(alone.rt), RINGRT_ABORTED, "ringrt_abort() was called");
    ck_assert_int_eq(ringrt_save(alone.rt, 1), RINGRT_ABORTED);
}

TEST(a_rank_alone_saves_and_restores_every_type_and_rank_of_shape) {
    TemporaryDirectory directory;
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.checkpoint_dir = directory.path.c_str();
    for (int run = 0; run < 2; ++run) {
        ringrt_t *rt = nullptr;
        ck_assert_int_eq(ringrt_init(&rt, &config), RINGRT_OK);
        double scalar = run ? 0 : NAN;
        uint8_t bytes[3] = {1, 2, 3};
        int64_t empty[1] = {0};
        uint16_t deep[16] = {};
        if (run)
            std::fill(bytes, bytes + 3, uint8_t{0});
        else
            std::fill(deep, deep + 16, uint16_t{0x7e01});
        const uint64_t three[] = {3}, none[] = {4, 0, 3},
                       many[] = {1, 1, 2, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1};
        ck_assert_int_eq(ringrt_register(rt, "scalar", &scalar, RINGRT_FLOAT64, 0, nullptr),
                         RINGRT_OK);
        ck_assert_int_eq(ringrt_register(rt, "bytes", bytes, RINGRT_UINT8, 1, three), RINGRT_OK);
        ck_assert_int_eq(ringrt_register(rt, "empty", empty, RINGRT_INT64, 3, none), RINGRT_OK);
        ck_assert_int_eq(ringrt_register(rt, "deep", deep, RINGRT_BFLOAT16, 16, many), RINGRT_OK);
        uint64_t step = 0;
        if (run == 0)
            ck_assert_int_eq(ringrt_save(rt, 5), RINGRT_OK);
        else
            ck_assert_msg(ringrt_restore(rt, &step) == RINGRT_OK, "%s", ringrt_last_error(rt));
        ck_assert(std::isnan(scalar) && bytes[2] == 3 && deep[15] == 0x7e01 &&
                  step == (run ? 5u : 0u));
        ck_assert_int_eq(ringrt_finalize(rt), RINGRT_OK);
    }
}

static volatile sig_atomic_t users_signals = 0;

TEST(the_programs_handler_is_called_and_restored) {
    struct sigaction own {
    }, found{};
    own.sa_handler = [](int) { users_signals = users_signals + 1; };
    sigaction(SIGURG, &own, nullptr);
    {
        Alone alone;
        raise(SIGURG);
        ck_assert_int_eq(users_signals, 1);
        Alone another;
        raise(SIGURG);
        ck_assert_int_eq(users_signals, 2);
    }
    sigaction(SIGURG, nullptr, &found);
    ck_assert(found.sa_handler == own.sa_handler);
    raise(SIGURG);
    ck_assert_int_eq(users_signals, 3);
}

TEST(outside_slurm_a_signal_saves_and_training_continues) {
    Alone alone;
    ringrt_action_t action = RINGRT_LEAVE;
    ck_assert_int_eq(ringrt_step(alone.rt, 1, &action), RINGRT_OK);
    raise(SIGURG);
    ck_assert_int_eq(ringrt_step(alone.rt, 2, &action), RINGRT_OK);
    ck_assert_int_eq(action, RINGRT_CONTINUE);
    ck_assert(std::ifstream(alone.directory.path + "/step-000000000002/manifest").good());
}

TEST(a_configured_batch_may_change) {
    constexpr const char *kNone = "no batch configured: set global_batch in the config";
    ringrt_batch_t batch = {};
    ringrt_action_t action = RINGRT_CONTINUE;
    {
        Alone alone;
        expect(alone.rt, ringrt_set_batch(alone.rt, 8), RINGRT_INVALID_ARGUMENT, kNone);
        expect(alone.rt, ringrt_set_samples_left(alone.rt, 8), RINGRT_INVALID_ARGUMENT, kNone);
    }
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.global_batch = 8;
    config.samples_total = 1000;
    Alone alone(config);
    ck_assert_int_eq(ringrt_step(alone.rt, 1, &action), RINGRT_OK);
    expect(alone.rt, ringrt_set_batch(alone.rt, 0), RINGRT_INVALID_ARGUMENT, "global_batch is 0");
    ck_assert_int_eq(ringrt_set_batch(alone.rt, 32), RINGRT_OK);
    ck_assert_int_eq(ringrt_batch(alone.rt, &batch), RINGRT_OK);
    ck_assert_uint_eq(batch.global, 32);
    ck_assert_uint_eq(batch.samples_seen, 8);
    ck_assert_int_eq(ringrt_step(alone.rt, 2, &action), RINGRT_OK);
    ck_assert_int_eq(ringrt_batch(alone.rt, &batch), RINGRT_OK);
    ck_assert_uint_eq(batch.samples_seen, 40);
    ck_assert_int_eq(ringrt_set_samples_left(alone.rt, 100), RINGRT_OK);
    config.steps_total = 5;
    ringrt_t *rt = nullptr;
    expect(nullptr, ringrt_init(&rt, &config), RINGRT_INVALID_ARGUMENT,
           "config.samples_total and config.steps_total: expected one of them");
    config.steps_total = config.global_batch = 0;
    expect(nullptr, ringrt_init(&rt, &config), RINGRT_INVALID_ARGUMENT,
           "config.samples_total needs config.global_batch");
}

TEST(statuses_have_names) {
    for (int status = RINGRT_OK; status <= RINGRT_UNSUPPORTED; ++status)
        ck_assert_str_ne(ringrt_status_string(static_cast<ringrt_status_t>(status)),
                         "unknown status");
    ck_assert_str_eq(ringrt_status_string(static_cast<ringrt_status_t>(-5)), "unknown status");
}

int main() { return ringrt::test::run_all("ringrt_api"); }
