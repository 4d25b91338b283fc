// SPDX-License-Identifier: BSD-3-Clause
// Extensions join and leave a training whose state is in the memory of a mock GPU
// (tests/support/hidden_gpu.h). The weights equal those of one rank alone in host memory bit for
// bit.
#include "libringrt/gpu/gpu.h"
#include "tests/support/hidden_gpu.h"
#include "tests/support/live_rows.h"
#include "tests/support/live_test.h"

using namespace ringrt::test;

namespace {

// One per process; a rank is one process.
HiddenDevice &gpu() {
    static HiddenDevice device;
    return device;
}

}  // namespace

// Replaces the library's function.
std::unique_ptr<ringrt::Gpu> ringrt::find_gpu() { return std::make_unique<HiddenGpu>(gpu()); }

namespace {

constexpr char kStream = 0;  // its address is a stream
std::map<const void *, float *> on_gpu;

struct Where {
    bool base = true, extension = true;  // on a GPU
    int fails_job = -1, fails_at = -1;   // a copy of this job's ranks
    bool sums = false;                   // on the GPU as well
};

// Behind the program's stream, over the current communicator.
void sum_on_gpu(ringrt_t *rt) {
    static auto *one = gpu().make<float>(1);
    gpu().marked = nullptr;
    const ringrt_status_t summed = ringrt_allreduce(one, one, 1, RINGRT_FLOAT32, RINGRT_SUM, rt);
    if (summed == RINGRT_OK && gpu().marked != &kStream) abort();
}

void use_gpus(LiveTraining &training, const Where &where) {
    static ringrt_t *handle = nullptr;
    setenv("RINGRT_GPU", "host", 1);
    training.registered = [where](int job, ringrt_t *rt, std::vector<float> &vector) -> void * {
        handle = where.sums ? rt : nullptr;
        if (job == where.fails_job) gpu().fails_at = where.fails_at;
        if (!(job == 0 ? where.base : where.extension)) return vector.data();
        if (ringrt_set_stream(rt, const_cast<char *>(&kStream)) != RINGRT_OK) abort();
        float *made = gpu().make<float>(vector.size());
        on_gpu[&vector] = made;
        memcpy(gpu().behind(made), vector.data(), vector.size() * sizeof(float));
        return made;
    };
    // In the stream: a step is done once it is waited for.
    training.push = [](std::vector<float> &vector) {
        if (handle) sum_on_gpu(handle);
        if (!on_gpu.contains(&vector)) return;
        float *to = gpu().behind(on_gpu[&vector]);
        if (gpu().marked != nullptr && gpu().marked != &kStream) abort();
        gpu().program.emplace_back(
            [to, step = vector] { memcpy(to, step.data(), step.size() * sizeof(float)); });
        if (gpu().program.size() % 64 == 0) gpu().synchronize();
    };
    training.pull = [](std::vector<float> &vector) {
        if (!on_gpu.contains(&vector)) return;
        gpu().synchronize();
        memcpy(vector.data(), gpu().behind(on_gpu[&vector]), vector.size() * sizeof(float));
    };
}

using Training = LiveTest<>;

void grow_and_shrink(const Where &where, int base, int extension, bool nodes_apart = false) {
    Training training;
    training.nodes_apart = nodes_apart;
    use_gpus(training, where);
    training.grow(0, base, base);
    training.grow(1, extension, base + extension);
    training.leave(1, base);
    training.expect_trained(base);
    ck_assert_int_eq(training.recoveries(), 0);
}

}  // namespace

TEST(all_on_gpus_grow_and_shrink) { grow_and_shrink({}, 2, 2); }
TEST(between_nodes_as_well) { grow_and_shrink({}, 1, 2, true); }
TEST(sums_are_in_stream_order_before_and_after) { grow_and_shrink({.sums = true}, 1, 1); }
TEST(an_extension_in_host_memory) { grow_and_shrink({.extension = false}, 2, 1); }
TEST(a_base_in_host_memory) { grow_and_shrink({.base = false}, 1, 2); }

TEST(the_extension_trains_to_the_end) {
    Training training;
    use_gpus(training, {});
    training.grow(0, 1, 1);
    training.grow(1, 2, 3);
    training.expect_trained(1);
    for (int status : training.job(1).wait(20 * kTimeoutScale)) ck_assert_int_eq(status, kTrained);
    for (int rank = 0; rank < 2; ++rank)
        ck_assert(training.weights(1, rank) == training.weights(0, 0));
}

TEST(a_lost_extension_costs_no_step) {
    Training training;
    use_gpus(training, {});
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    kill(training.job(1).pid(1), SIGKILL);
    usleep(20000);
    training.forget(1);
    ck_assert(training.await_size(2));
    training.expect_trained(2);
}

// One line at the extension, and the base keeps training.
TEST(an_extension_whose_gpu_fails_does_not_join) {
    for (int at : {0, 1}) {
        Training training;
        use_gpus(training, {.fails_job = 1, .fails_at = at});
        training.grow(0, 2, 2);
        for (int status : training.start(1, 2).wait(20 * kTimeoutScale))
            ck_assert_int_eq(status, kFailed + RINGRT_SYSTEM_ERROR);
        ck_assert(training.await_steps(3));
        ck_assert_int_eq(training.size(), 2);
        training.expect_trained(2);
        ck_assert_int_eq(training.recoveries(), 0);  // it was called off, not lost
    }
}

TEST(a_base_whose_gpu_fails_to_send_keeps_training) {
    Training training;
    use_gpus(training, {.fails_job = 0, .fails_at = 1});
    training.grow(0, 2, 2);
    for (int status : training.start(1, 1).wait(20 * kTimeoutScale))
        ck_assert_int_eq(status, kFailed + RINGRT_SYSTEM_ERROR);
    ck_assert(training.await_steps(3));
    training.start(2, 1);  // it failed once
    ck_assert(training.await_size(3));
    training.expect_trained(2);
    ck_assert_int_eq(training.recoveries(), 0);
}

// Rows are on the GPU at some jobs, and in host memory at others.
void use_row_memory(LiveRows &training, bool base_on_gpu, bool extension_on_gpu) {
    setenv("RINGRT_GPU", "host", 1);
    training.memory_of = [=](int job) {
        RowMemory memory;
        if (!(job == 0 ? base_on_gpu : extension_on_gpu)) return memory;
        memory.make = [](size_t floats) { return gpu().make<float>(floats); };
        memory.unmake = [](float *at) { gpu().unmake(at); };
        memory.seen = [](float *at) { return gpu().behind(at); };
        return memory;
    };
}

void move_rows(bool base_on_gpu, bool extension_on_gpu) {
    LiveTest<LiveRows> training;
    use_row_memory(training, base_on_gpu, extension_on_gpu);
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.job(1).signal(0, SIGURG);
    for (int status : training.job(1).wait(20 * kTimeoutScale)) ck_assert_int_eq(status, kHasLeft);
    ck_assert(training.await_size(2));
    training.grow(2, 1, 3);
    training.forget(2);
    ck_assert(training.await_size(2));
    training.expect_trained(2);
}

// The base continues from a copy in its host memory. There is no checkpoint any more.
void copy_rows(bool base_on_gpu, bool extension_on_gpu) {
    setenv("RINGRT_LIVE_COPY_STEPS", "2", 1);
    LiveTest<LiveRows> training;
    use_row_memory(training, base_on_gpu, extension_on_gpu);
    training.grow(0, 2, 2);
    training.grow(1, 2, 4);
    training.remove_checkpoints();
    for (int job : {1, 2}) {
        training.forget(job);
        ck_assert(training.await_size(2));
        ck_assert_uint_le(training.back_most(), 2);
        training.grow(job + 1, 1, 3);
    }
    training.expect_trained(2);
    unsetenv("RINGRT_LIVE_COPY_STEPS");
}

TEST(rows_on_gpus_move) { move_rows(true, true); }
TEST(rows_move_from_a_gpu_to_a_host_and_back) { move_rows(true, false); }
TEST(rows_move_from_a_host_to_a_gpu_and_back) { move_rows(false, true); }
TEST(rows_on_gpus_are_copied) { copy_rows(true, true); }
TEST(rows_on_a_gpu_and_a_host_are_copied) { copy_rows(true, false); }

int main() { return run_all("live_gpu"); }
