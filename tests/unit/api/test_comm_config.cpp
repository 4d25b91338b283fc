// SPDX-License-Identifier: BSD-3-Clause
// Misuse of communicators: every error returns a status and one clear line, and changes nothing.
#include <unistd.h>

#include <thread>
#include <vector>

#include "libringrt/ringrt_comm.h"
#include "tests/support/check.h"
#include "tests/support/directory.h"

using namespace ringrt::test;

namespace {

void expect(const ringrt_comm_t *comm, ringrt_status_t got, ringrt_status_t expected,
            const char *line) {
    ck_assert_msg(got == expected, "%s: %s", ringrt_status_string(got),
                  ringrt_comm_last_error(comm));
    EXPECT_TEXT(ringrt_comm_last_error(comm), line);
}

// Changes a valid config of one rank alone.
template <typename Change>
void refused(const char *line, Change change) {
    for (const char *name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) unsetenv(name);
    ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
    change(config);
    ringrt_comm_t *comm = nullptr;
    expect(nullptr, ringrt_comm_create(&comm, &config), RINGRT_INVALID_ARGUMENT, line);
    ck_assert(comm == nullptr);
}

TEST(a_wrong_config_returns_one_line) {
    using Config = ringrt_comm_config_t;
    const char *ranks = "rank 2 of 2: expected 0 <= rank < size <= 65536";
    refused(ranks, [](Config &config) { config.rank = config.size = 2; });
    refused("rank 0 of 65537: expected 0 <= rank < size <= 65536",
            [](Config &config) { config.size = 65537; });
    refused("rank -1 of 2: expected 0 <= rank < size <= 65536", [](Config &config) {
        config.rank = -1;
        config.size = 2;
    });
    const char *size = "config.struct_size is not right: start from RINGRT_COMM_CONFIG_INIT";
    refused(size, [](Config &config) { config.struct_size = 0; });
    refused(size, [](Config &config) { config.struct_size = 100000; });
    refused("config.name: expected 1 to 64 of [A-Za-z0-9._-], got \"a/b\"",
            [](Config &config) { config.name = "a/b"; });
    refused("config.name: expected 1 to 64 of [A-Za-z0-9._-], got \"\"",
            [](Config &config) { config.name = ""; });
    ringrt_store_t store = {};
    refused("config.store: put and get are both needed",
            [&](Config &config) { config.store = &store; });
    refused("config.store and config.rendezvous: expected one of them", [&](Config &config) {
        config.store = &store;
        config.rendezvous = "x";
    });
    refused("RINGRT_TIMEOUT_MS (or the config's field): expected 1 to 86400000, got 86400001",
            [](Config &config) { config.timeout_ms = 86400001; });
    refused("rendezvous: expected tcp:HOST:PORT (for example tcp:node1:29500), got \"tcp:x\"",
            [](Config &config) {
                config.size = 2;
                config.rendezvous = "tcp:x";
            });
    expect(nullptr, ringrt_comm_create(nullptr, nullptr), RINGRT_INVALID_ARGUMENT, "out is NULL");
}

TEST(a_newer_programs_config_is_accepted_if_its_new_fields_are_zero) {
    struct {
        ringrt_comm_config_t known;
        uint64_t more;
    } config = {.known = RINGRT_COMM_CONFIG_INIT, .more = 1};
    config.known.struct_size = sizeof config;
    config.known.size = 1;
    ringrt_comm_t *comm = nullptr;
    expect(nullptr, ringrt_comm_create(&comm, &config.known), RINGRT_INVALID_ARGUMENT,
           "config has fields that this libringrt does not support");
    config.more = 0;
    ck_assert_int_eq(ringrt_comm_create(&comm, &config.known), RINGRT_OK);
    ck_assert_int_eq(ringrt_comm_destroy(comm), RINGRT_OK);
}

struct Alone {
    Alone() {
        ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
        config.size = 1;
        ck_assert_int_eq(ringrt_comm_create(&comm, &config), RINGRT_OK);
    }
    ~Alone() { ringrt_comm_destroy(comm); }
    Alone(const Alone &) = delete;
    Alone &operator=(const Alone &) = delete;
    ringrt_comm_t *comm = nullptr;
};

TEST(wrong_arguments_do_not_change_the_communicator) {
    Alone alone;
    ringrt_comm_t *comm = alone.comm;
    float x[4] = {1, 2, 3, 4};
    const auto none = static_cast<ringrt_dtype_t>(99);
    const auto invalid = RINGRT_INVALID_ARGUMENT;
    ringrt_request_t *request = nullptr;
    const char *sum =
        "no such sum: dtype or op is not one of ringrt.h, or it is the average of bool";
    for (ringrt_request_t **where : {static_cast<ringrt_request_t **>(nullptr), &request}) {
        auto reduce = [&](const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                          int op) {
            return ringrt_comm_allreduce(send, recv, count, dtype, static_cast<ringrt_op_t>(op),
                                         comm, where);
        };
        expect(comm, reduce(x, x, 4, RINGRT_BOOL, RINGRT_AVG), invalid, sum);
        expect(comm, reduce(x, x, 4, none, RINGRT_SUM), invalid, sum);
        expect(comm, reduce(x, x, 4, RINGRT_FLOAT32, 5), invalid, sum);
        expect(comm, reduce(nullptr, x, 4, RINGRT_FLOAT32, RINGRT_SUM), invalid,
               "send or recv is NULL");
        expect(comm, reduce(x, x + 1, 2, RINGRT_FLOAT32, RINGRT_SUM), invalid,
               "send and recv overlap other than in place");
        expect(comm, reduce(x, x, SIZE_MAX / 2, RINGRT_FLOAT32, RINGRT_SUM), invalid,
               "a count is larger than any memory");
        expect(comm, ringrt_comm_alltoall(x, x, 4, RINGRT_FLOAT32, comm, where), invalid,
               "send and recv may not overlap");
        expect(comm, ringrt_comm_allgather(x, x + 1, 2, none, comm, where), invalid,
               "no such dtype");
        for (int root : {-1, 1}) {
            expect(comm, ringrt_comm_broadcast(x, x, 4, RINGRT_FLOAT32, root, comm, where), invalid,
                   "root is not a rank");
            expect(comm, ringrt_comm_reduce(x, x, 4, RINGRT_FLOAT32, RINGRT_SUM, root, comm, where),
                   invalid, "root is not a rank");
        }
        ck_assert(request == nullptr);
    }
    ringrt_comm_t *part = nullptr;
    expect(comm, ringrt_comm_split(comm, -2, 0, &part), invalid,
           "color: expected RINGRT_COMM_NO_COLOR, or 0 and more");
    expect(comm, ringrt_comm_split(comm, 0, 0, nullptr), invalid, "out is NULL");
    expect(comm, ringrt_comm_mem_alloc(comm, 4, nullptr), invalid, "out is NULL");
    ck_assert_int_eq(ringrt_comm_mem_free(comm, x), invalid);
    ringrt_status_t error = RINGRT_ABORTED;
    ck_assert_int_eq(ringrt_comm_async_error(comm, &error), RINGRT_OK);
    ck_assert_int_eq(error, RINGRT_OK);
    ck_assert_int_eq(ringrt_comm_barrier(comm, nullptr), RINGRT_OK);
}

TEST(a_handle_that_is_null_is_refused) {
    int done = 7;
    ringrt_status_t error = RINGRT_OK;
    expect(nullptr, ringrt_comm_barrier(nullptr, nullptr), RINGRT_INVALID_ARGUMENT,
           "the communicator is NULL");
    expect(nullptr, ringrt_wait(nullptr), RINGRT_INVALID_ARGUMENT, "request is NULL");
    expect(nullptr, ringrt_test(nullptr, &done), RINGRT_INVALID_ARGUMENT, "request is NULL");
    ck_assert_int_eq(done, 7);
    ck_assert_int_eq(ringrt_comm_abort(nullptr), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_comm_async_error(nullptr, &error), RINGRT_INVALID_ARGUMENT);
    ck_assert_int_eq(ringrt_comm_rank(nullptr), -1);
    ck_assert_int_eq(ringrt_comm_size(nullptr), -1);
    ck_assert_int_eq(ringrt_comm_destroy(nullptr), RINGRT_OK);
}

// In addition to a training's handle: the training's environment settings do not apply here.
TEST(a_communicator_ignores_a_trainings_settings) {
    TemporaryDirectory directory;
    const std::string telemetry = directory.path + "/telemetry";
    setenv("RINGRT_EXTENDS", "77", 1);
    setenv("RINGRT_LIVE_RESIZE", "1", 1);
    setenv("RINGRT_SAVE_INTERVAL_S", "no number", 1);
    setenv("RINGRT_TELEMETRY_FILE", telemetry.c_str(), 1);
    ck_assert_int_eq(chdir(directory.path.c_str()), 0);
    {
        Alone alone;
        float x = 3, sum = 0;
        ck_assert_int_eq(
            ringrt_comm_allreduce(&x, &sum, 1, RINGRT_FLOAT32, RINGRT_SUM, alone.comm, nullptr),
            RINGRT_OK);
        ck_assert(sum == 3);
    }
    ck_assert(std::filesystem::is_empty(directory.path));
}

// TSan detects a race.
TEST(several_threads_use_one_communicator) {
    Alone alone;
    int wrong[4] = {};
    std::vector<std::thread> threads;
    for (int &mine : wrong)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) {
                int64_t x = i, y = -1;
                ringrt_request_t *request = nullptr;
                mine += ringrt_comm_allreduce(&x, &y, 1, RINGRT_INT64, RINGRT_SUM, alone.comm,
                                              i % 2 == 0 ? &request : nullptr) != RINGRT_OK;
                if (request) mine += ringrt_wait(request) != RINGRT_OK;
                mine += y != i;
                mine += ringrt_comm_broadcast(nullptr, nullptr, 1, RINGRT_UINT8, 0, alone.comm,
                                              nullptr) != RINGRT_INVALID_ARGUMENT;
                mine += std::string(ringrt_comm_last_error(alone.comm)) != "send or recv is NULL";
            }
        });
    for (std::thread &each : threads) each.join();
    for (int mine : wrong) ck_assert_int_eq(mine, 0);
}

}  // namespace

int main() { return run_all("comm_config"); }
