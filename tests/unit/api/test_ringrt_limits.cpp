// SPDX-License-Identifier: BSD-3-Clause
// The C API when memory, files, signals and buffers are not as the program expects: nothing is
// lost, and the handle keeps working.
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/alone.h"

using namespace ringrt::test;

// A handler installed above ringrt's that calls the previous handler, and is later below the next
// handle's.
static struct sigaction below_chaining;
static void chaining(int number, siginfo_t *info, void *context) {
    if (below_chaining.sa_flags & SA_SIGINFO) below_chaining.sa_sigaction(number, info, context);
}

TEST(a_handler_that_calls_an_earlier_handle_makes_no_cycle) {
    struct sigaction above {};
    above.sa_sigaction = chaining;
    above.sa_flags = SA_SIGINFO;
    {
        Alone first;
        sigaction(SIGURG, &above, &below_chaining);
    }
    Alone second;
    raise(SIGURG);
    ringrt_action_t action;
    ck_assert_int_eq(ringrt_step(second.rt, 2, &action), RINGRT_OK);
    ck_assert(std::ifstream(second.directory.path + "/step-000000000002/manifest").good());
}

// The job may restart on other nodes: a state that only the nodes' disks hold does not count as
// saved.
TEST(what_came_from_the_nodes_disks_is_saved_before_leaving) {
    TemporaryDirectory node, shared;
    setenv("RINGRT_CHECKPOINT_LOCAL", node.path.c_str(), 1);
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.save_interval_s = 1;
    config.save_inline = 1;
    config.checkpoint_dir = shared.path.c_str();
    const uint64_t shape[1] = {1};
    for (int run = 0; run < 2; ++run) {
        ringrt_t *rt = nullptr;
        ringrt_action_t action;
        float x = 1;
        uint64_t step = 0;
        ck_assert_int_eq(ringrt_init(&rt, &config), RINGRT_OK);
        ck_assert_int_eq(ringrt_register(rt, "x", &x, RINGRT_FLOAT32, 1, shape), RINGRT_OK);
        if (run == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1200));
            ck_assert_int_eq(ringrt_step(rt, 5, &action), RINGRT_OK);
            for (const auto &each : std::filesystem::directory_iterator(shared.path))
                std::filesystem::remove_all(each);
        } else {
            ck_assert_int_eq(ringrt_restore(rt, &step), RINGRT_OK);
            ck_assert_uint_eq(step, 5);
            raise(SIGURG);
            ck_assert_int_eq(ringrt_step(rt, 5, &action), RINGRT_OK);
            ck_assert(std::ifstream(shared.path + "/step-000000000005/manifest").good());
        }
        ck_assert_int_eq(ringrt_finalize(rt), RINGRT_OK);
    }
}

// As from srun, which passes `ulimit -f` on.
TEST(a_limit_of_file_size_fails_a_save_and_not_the_rank) {
    Alone alone;
    std::vector<float> x(1 << 20);
    const uint64_t shape[1] = {x.size()};
    ck_assert_int_eq(ringrt_register(alone.rt, "x", x.data(), RINGRT_FLOAT32, 1, shape), RINGRT_OK);
    const rlimit limit{1 << 20, RLIM_INFINITY}, none{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    ck_assert_int_eq(ringrt_save(alone.rt, 1), RINGRT_CHECKPOINT_FAILED);
    setrlimit(RLIMIT_FSIZE, &none);
    ck_assert_int_eq(ringrt_save(alone.rt, 2), RINGRT_OK);
}

TEST(a_rank_alone_allocates_and_frees) {
    void *memory = nullptr;
    for (int i = 0; i < 60; ++i) {
        Alone alone;
        ck_assert_int_eq(ringrt_mem_alloc(alone.rt, SIZE_MAX, &memory), RINGRT_NO_MEMORY);
        ck_assert_int_eq(ringrt_mem_alloc(alone.rt, size_t{1} << 60, &memory), RINGRT_NO_MEMORY);
        ck_assert_int_eq(ringrt_mem_free(alone.rt, &memory), RINGRT_INVALID_ARGUMENT);
        ck_assert_int_eq(ringrt_mem_alloc(alone.rt, 1 << 20, &memory), RINGRT_OK);
        ck_assert_int_eq(ringrt_mem_free(alone.rt, memory), RINGRT_OK);
        ck_assert_int_eq(ringrt_mem_alloc(alone.rt, 16 << 20, &memory), RINGRT_OK);
        ck_assert_int_eq(ringrt_barrier(alone.rt), RINGRT_OK);  // the handle still works
    }
    long pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    ck_assert_int_lt(resident * sysconf(_SC_PAGESIZE), 500 << 20);  // of 960 MB
}

TEST(a_step_of_gradients_has_the_connections_to_itself) {
    Alone alone;
    int id = -1;
    float g = 1, other = 0;
    ringrt_request_t *request = nullptr;
    const char *line =
        "gradients are in flight: call ringrt_gradient_wait() for each of them first";
    ck_assert_int_eq(ringrt_gradient_register(alone.rt, "g", 1, RINGRT_FLOAT32, RINGRT_SUM, &id),
                     RINGRT_OK);
    ck_assert_int_eq(ringrt_gradient_ready(alone.rt, id, &g), RINGRT_OK);
    expect(alone.rt, ringrt_reduce_scatter(&g, &other, 1, RINGRT_FLOAT32, RINGRT_SUM, alone.rt),
           RINGRT_INVALID_ARGUMENT, line);
    expect(alone.rt, ringrt_allgather(&g, &other, 1, RINGRT_FLOAT32, alone.rt),
           RINGRT_INVALID_ARGUMENT, line);
    expect(alone.rt,
           ringrt_allreduce_start(&g, &other, 1, RINGRT_FLOAT32, RINGRT_SUM, 0, alone.rt, &request),
           RINGRT_INVALID_ARGUMENT, line);
    ck_assert_int_eq(ringrt_gradient_wait(alone.rt, id, nullptr), RINGRT_OK);
}

// A count is that of one block. Five values on two ranks are padded to two blocks of three.
TEST(blocks_are_counted_as_by_nccl) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        for (const char *name : {"SLURM_JOB_ID", "SLURM_STEP_ID"}) unsetenv(name);
        const ringrt_config_t config = config_of(rank, 2, directory);
        ringrt_t *rt = nullptr;
        if (ringrt_init(&rt, &config) != RINGRT_OK) return 1;
        float x[7] = {1, 2, 3, 4, 5, 0, 9}, block[4] = {9, 9, 9, 9}, *own = x + 3 * rank;
        if (ringrt_reduce_scatter(x, block, 3, RINGRT_FLOAT32, RINGRT_SUM, rt) != RINGRT_OK)
            return 2;
        for (int i = 0; i < 3; ++i)
            if (block[i] != 2 * own[i]) return 3;
        if (ringrt_reduce_scatter(x, own, 3, RINGRT_FLOAT32, RINGRT_SUM, rt) != RINGRT_OK) return 4;
        if (memcmp(own, block, 3 * sizeof *own) != 0 || block[3] != 9 || x[6] != 9) return 5;
        if (ringrt_allgather(own, x, 3, RINGRT_FLOAT32, rt) != RINGRT_OK) return 6;
        const float right[7] = {2, 4, 6, 8, 10, 0, 9};
        if (memcmp(x, right, sizeof x) != 0) return 7;
        float all[7] = {0, 0, 0, 0, 0, 0, 9};
        if (ringrt_allgather(block, all, 3, RINGRT_FLOAT32, rt) != RINGRT_OK) return 8;
        if (memcmp(all, right, sizeof all) != 0) return 9;
        int16_t pair[2] = {int16_t(rank), 7};
        if (ringrt_broadcast(rank == 1 ? pair : nullptr, pair, 4, RINGRT_UINT8, 1, rt) != RINGRT_OK)
            return 10;
        if (pair[0] != 1 || pair[1] != 7) return 11;
        return ringrt_finalize(rt) == RINGRT_OK ? 0 : 12;
    });
    for (int status : ranks.wait(60)) ck_assert_int_eq(status, 0);
}

int main() { return run_all("ringrt_limits"); }
