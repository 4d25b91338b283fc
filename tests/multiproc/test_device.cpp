// SPDX-License-Identifier: BSD-3-Clause
// Buffers in GPU memory, over a mock GPU (tests/support/fake_gpu.h): which way they are summed,
// that the sums are right, and that no rank waits forever. A real GPU: tests/gpu.
#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "libringrt/collective/communicator.h"
#include "tests/multiproc/layout.h"
#include "tests/support/check.h"
#include "tests/support/fake_gpu.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr size_t kCount = 10007;

struct Case {
    const char *wish;  // RINGRT_GPU
    Layout layout;
    bool one_gpu_each, nccl, opens;
};

Communicator make(const TemporaryDirectory &directory, Layout layout, int rank, FakeGpuPlan plan,
                  uint32_t timeout_ms = 20000) {
    CommunicatorConfig config = config_of(directory, layout, rank);
    config.timeout_ms = timeout_ms;
    config.warn = [](const std::string &) {};
    config.find_gpu = [plan] { return std::make_unique<FakeGpu>(plan); };
    return Communicator(std::move(config));
}

int explain(int code, const Communicator &comm, const char *what) {
    fprintf(stderr, "rank %d: %s: \"%s\"\n", comm.rank(), what, comm.last_error().c_str());
    return code;
}

// How a sum in stream order ended: only the watching thread waits for it.
ringrt_status_t failure_of(const Communicator &comm) {
    for (int i = 0; i < 20000 * kTimeoutScale && comm.failure() == RINGRT_OK; ++i) usleep(1000);
    return comm.failure();
}

// Sums and averages, in place and not, started and not.
int sums_are_right(Communicator &comm) {
    auto *send = static_cast<float *>(FakeGpu::make(kCount * sizeof(float)));
    auto *recv = static_cast<float *>(FakeGpu::make(kCount * sizeof(float)));
    int p = comm.size(), all = p * (p - 1) / 2;
    for (size_t count : {size_t(1), kCount - 1, kCount}) {
        std::fill_n(send, count, float(comm.rank()));
        if (comm.allreduce(send, recv, count, RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK)
            return explain(2, comm, "sum");
        if (std::count(recv, recv + count, float(all)) != ptrdiff_t(count)) return 3;
        if (comm.allreduce(send, send, count, RINGRT_FLOAT32, RINGRT_AVG) != RINGRT_OK)
            return explain(4, comm, "average");
        if (std::count(send, send + count, float(all) / float(p)) != ptrdiff_t(count)) return 5;
    }
    std::fill_n(send, kCount, float(comm.rank()));
    std::unique_ptr<Request> request;
    if (comm.start_allreduce(send, recv, kCount, RINGRT_FLOAT32, RINGRT_MAX, 0, &request) !=
        RINGRT_OK)
        return explain(6, comm, "start");
    if (request->wait() != RINGRT_OK) return explain(7, comm, "wait");
    request.reset();
    if (std::count(recv, recv + kCount, float(p - 1)) != ptrdiff_t(kCount)) return 8;
    // The others use host memory.
    std::fill_n(send, kCount, float(comm.rank()));
    if (comm.broadcast(send, kCount * sizeof(float), p - 1) != RINGRT_OK ||
        send[77] != float(p - 1))
        return explain(9, comm, "broadcast");
    if (comm.reduce_scatter(send, recv, kCount, RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK ||
        recv[0] != float(p * (p - 1)))
        return explain(10, comm, "reduce_scatter");
    return 0;
}

void expect_all(Ranks &ranks, int except = -1) {
    std::vector<int> ended = ranks.wait(60 * kTimeoutScale, except);
    for (size_t r = 0; r < ended.size(); ++r) {
        if (int(r) != except) ck_assert_msg(ended[r] == 0, "rank %zu ended with %d", r, ended[r]);
    }
}

void run(const Case &each) {
    TemporaryDirectory directory;
    Ranks ranks(each.layout.ranks, [&](int rank) {
        setenv("RINGRT_GPU", each.wish, 1);
        FakeGpuPlan plan{
            .number = each.one_gpu_each ? rank : 0, .nccl = each.nccl, .opens = each.opens};
        Communicator comm = make(directory, each.layout, rank, plan);
        if (comm.start() != RINGRT_OK) return explain(1, comm, "not started");
        int code = sums_are_right(comm);
        if (code != 0) return code;
        return comm.finish() == RINGRT_OK ? 0 : explain(11, comm, "finish");
    });
    expect_all(ranks);
}

TEST(one_rank_alone) { run({"", {1, 1}, true, true, true}); }
TEST(one_rank_without_nccl) { run({"", {1, 1}, true, false, true}); }
TEST(one_gpu_per_rank) { run({"", {3, 1}, true, true, true}); }
TEST(one_gpu_per_rank_on_two_nodes) { run({"", {4, 2}, true, true, true}); }
TEST(nccl_in_the_node_and_the_ring_between) { run({"hierarchical", {4, 2}, true, true, true}); }
TEST(a_shared_gpu) { run({"", {3, 1}, false, true, true}); }
TEST(a_shared_gpu_that_cannot_be_opened) { run({"", {3, 1}, false, true, false}); }
TEST(shared_gpus_on_two_nodes) { run({"", {4, 2}, false, true, true}); }
TEST(through_the_host) { run({"host", {3, 1}, true, true, true}); }

TEST(what_is_impossible_is_refused) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        setenv("RINGRT_GPU", "nccl", 1);
        Communicator comm = make(directory, {2, 1}, rank, {.number = 0});  // one GPU, two ranks
        if (comm.start() != RINGRT_OK) return 1;
        auto *data = static_cast<float *>(FakeGpu::make(4096));
        return comm.allreduce(data, data, 7, RINGRT_FLOAT32, RINGRT_SUM) == RINGRT_UNSUPPORTED ? 0
                                                                                               : 2;
    });
    expect_all(ranks);
}

TEST(one_rank_in_host_memory_is_a_mismatch) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        Communicator comm = make(directory, {2, 1}, rank, {.number = rank});
        if (comm.start() != RINGRT_OK) return 1;
        std::vector<float> mine(1000);
        void *data = rank == 0 ? FakeGpu::make(4096) : mine.data();
        ringrt_status_t status = comm.allreduce(data, data, 1000, RINGRT_FLOAT32, RINGRT_SUM);
        bool told = status == RINGRT_MISMATCH || status == RINGRT_PEER_LOST;
        bool named = comm.last_error().find("on GPUs") != std::string::npos;
        return told && named ? 0 : explain(2, comm, "not told");
    });
    expect_all(ranks);
}

// Calls on GPUs exchange no headers: the next call on host memory reports that they differed.
TEST(different_calls_on_gpus_are_a_mismatch_at_the_next_call) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}}) {
        for (size_t second : {0, 7, 8}) {  // elements of rank 1's second sum; 0: it makes none
            TemporaryDirectory directory;
            Ranks ranks(2, [&](int rank) {
                Communicator comm =
                    make(directory, layout, rank, {.number = rank, .hang = second == 0});
                if (comm.start() != RINGRT_OK) return 1;
                auto *data = static_cast<float *>(FakeGpu::make(4096));
                const size_t mine = rank == 0 ? 7 : second;
                for (size_t count : {size_t(7), mine}) {
                    if (count > 0 &&
                        comm.allreduce(data, data, count, RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK)
                        return explain(2, comm, "sum");
                }
                const ringrt_status_t status = comm.barrier();
                if (second == 7) {
                    if (status != RINGRT_OK) return explain(3, comm, "barrier");
                    return comm.finish() == RINGRT_OK ? 0 : explain(5, comm, "finish");
                }
                const bool named =
                    comm.last_error().find("barrier after 2 calls on GPUs") != std::string::npos;
                const bool told = status == RINGRT_MISMATCH || status == RINGRT_PEER_LOST;
                return told && named ? 0 : explain(4, comm, "not told");
            });
            expect_all(ranks);
        }
    }
}

TEST(buffers_in_different_memory_are_refused) {
    Communicator comm({.find_gpu = [] { return std::make_unique<FakeGpu>(FakeGpuPlan{}); }});
    ck_assert_int_eq(comm.start(), RINGRT_OK);
    float mine[4] = {};
    void *data = FakeGpu::make(4096);
    ck_assert_int_eq(comm.allreduce(data, mine, 4, RINGRT_FLOAT32, RINGRT_SUM),
                     RINGRT_INVALID_ARGUMENT);
}

// A GPU that runs the program's stream as late as possible: only what the library waits for runs
// earlier.
class LateGpu : public FakeGpu {
  public:
    using FakeGpu::FakeGpu;
    static inline std::vector<std::function<void()>> stream;  // the program's stream
    static void run_stream() {
        for (const auto &each : std::exchange(stream, {})) each();
    }
    Status after(const Event &event) override {
        run_stream();
        return FakeGpu::after(event);
    }
};

// On a mock GPU: a result does not overwrite what the program's stream still reads.
TEST(a_result_waits_for_earlier_reads_of_its_buffer) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        CommunicatorConfig config = config_of(directory, {2, 1}, rank);
        config.find_gpu = [rank] { return std::make_unique<LateGpu>(FakeGpuPlan{.number = rank}); };
        Communicator comm(std::move(config));
        if (comm.start() != RINGRT_OK) return explain(1, comm, "start");
        auto *data = static_cast<float *>(FakeGpu::make(kCount * sizeof(float)));
        float read = 0;
        data[7] = float(10 + rank);
        LateGpu::stream.emplace_back([&] { read = data[7]; });
        if (comm.broadcast(data, kCount * sizeof(float), 0) != RINGRT_OK)
            return explain(2, comm, "broadcast");
        LateGpu::run_stream();
        if (read != float(10 + rank)) return 3;  // the result came too early
        if (data[7] != 10) return 4;
        return comm.finish() == RINGRT_OK ? 0 : explain(5, comm, "finish");
    });
    expect_all(ranks);
}

TEST(an_asynchronous_error_ends_the_sum) {
    Communicator comm(
        {.find_gpu = [] { return std::make_unique<FakeGpu>(FakeGpuPlan{.fail_after = 3}); }});
    ck_assert_int_eq(comm.start(), RINGRT_OK);
    void *data = FakeGpu::make(4096);
    ck_assert_int_eq(comm.allreduce(data, data, 4, RINGRT_FLOAT32, RINGRT_SUM), RINGRT_OK);
    ck_assert_int_eq(failure_of(comm), RINGRT_PEER_LOST);
    ck_assert_int_eq(comm.barrier(), RINGRT_PEER_LOST);
    ck_assert(comm.last_error().find("rank 0: NCCL on GPU 0: asynchronous error") == 0);
}

// What ends a hanging NCCL: an abort, a timeout, a lost rank.
TEST(an_abort_ends_a_hanging_sum) {
    std::atomic<int> aborts = 0;
    Communicator comm({.find_gpu = [&] {
        return std::make_unique<FakeGpu>(FakeGpuPlan{.hang = true, .aborts = &aborts});
    }});
    ck_assert_int_eq(comm.start(), RINGRT_OK);
    void *data = FakeGpu::make(4096);
    ck_assert_int_eq(comm.allreduce(data, data, 4, RINGRT_FLOAT32, RINGRT_SUM), RINGRT_OK);
    comm.abort();
    ck_assert_int_eq(failure_of(comm), RINGRT_ABORTED);
    for (int i = 0; i < 20000 && aborts == 0; ++i) usleep(1000);
    ck_assert_int_eq(aborts, 1);  // aborts of NCCL: the streams continue
}

TEST(a_hanging_sum_times_out) {
    TemporaryDirectory directory;
    Communicator comm = make(directory, {1, 1}, 0, {.hang = true}, 500);
    ck_assert_int_eq(comm.start(), RINGRT_OK);
    void *data = FakeGpu::make(4096);
    ck_assert_int_eq(comm.allreduce(data, data, 4, RINGRT_FLOAT32, RINGRT_SUM), RINGRT_OK);
    ck_assert_int_eq(failure_of(comm), RINGRT_TIMEOUT);
    ck_assert(comm.last_error().find("NCCL") != std::string::npos);
}

// NCCL's initialization takes seconds on many nodes: the start's timeout applies, not an
// operation's.
TEST(nccls_initialization_has_the_start_timeout) {
    CommunicatorConfig config{.timeout_ms = 200, .start_timeout_ms = 20000};
    config.find_gpu = [] { return std::make_unique<FakeGpu>(FakeGpuPlan{.start_ms = 700}); };
    Communicator comm(std::move(config));
    ck_assert_int_eq(comm.start(), RINGRT_OK);
    void *data = FakeGpu::make(4096);
    const ringrt_status_t status = comm.allreduce(data, data, 4, RINGRT_FLOAT32, RINGRT_SUM);
    ck_assert_msg(status == RINGRT_OK, "%s", comm.last_error().c_str());
}

// After RINGRT_LEAVE ranks end one by one. An abort, which NCCL requires from all ranks of a node,
// could hang.
TEST(a_rank_that_leaves_does_not_abort_nccl) {
    for (bool leaves : {false, true}) {
        std::atomic<int> aborts = 0;
        {
            Communicator comm({.find_gpu = [&] {
                return std::make_unique<FakeGpu>(FakeGpuPlan{.aborts = &aborts});
            }});
            ck_assert_int_eq(comm.start(), RINGRT_OK);
            void *data = FakeGpu::make(4096);
            ck_assert_int_eq(comm.allreduce(data, data, 4, RINGRT_FLOAT32, RINGRT_SUM), RINGRT_OK);
            if (leaves) comm.leave_to_exit();
        }
        ck_assert_int_eq(aborts, leaves ? 0 : 1);
    }
}

TEST(a_rank_that_dies_in_nccl_is_named) {
    for (Layout layout : {Layout{2, 1}, Layout{2, 2}}) {
        TemporaryDirectory directory;
        Ranks ranks(2, [&](int rank) {
            Communicator comm = make(directory, layout, rank, {.number = rank, .hang = true});
            if (comm.start() != RINGRT_OK) return 1;
            auto *data = static_cast<float *>(FakeGpu::make(4096));
            std::thread other;
            if (rank == 1) other = std::thread([] { usleep(500000), raise(SIGKILL); });
            if (comm.allreduce(data, data, 7, RINGRT_FLOAT32, RINGRT_SUM) != RINGRT_OK) return 3;
            const ringrt_status_t status = failure_of(comm);
            if (other.joinable()) other.join();
            bool named = comm.last_error().find("rank 1 on ") != std::string::npos;
            return status == RINGRT_PEER_LOST && named ? 0 : explain(2, comm, "not named");
        });
        expect_all(ranks, 1);
    }
}

// NCCL's first call waits for a connection to a rank that is gone. The watching thread ends it. So
// does the timeout, if the rank is there and does not call.
TEST(a_call_that_nccl_does_not_return_is_ended) {
    for (const bool dies : {true, false}) {
        TemporaryDirectory directory;
        Ranks ranks(2, [&](int rank) {
            Communicator comm = make(directory, {2, 1}, rank, {.number = rank, .blocks = true});
            if (comm.start() != RINGRT_OK) return 1;
            if (!dies) comm.set_timeout_ms(1500);
            auto *data = static_cast<float *>(FakeGpu::make(4096));
            std::thread other;
            if (rank == 1 && dies) other = std::thread([] { usleep(500000), raise(SIGKILL); });
            const auto status = comm.allreduce(data, data, 7, RINGRT_FLOAT32, RINGRT_SUM);
            if (other.joinable()) other.join();
            if (!dies) return status == RINGRT_TIMEOUT || status == RINGRT_PEER_LOST ? 0 : 3;
            const bool named = comm.last_error().find("rank 1 on ") != std::string::npos;
            return status == RINGRT_PEER_LOST && named ? 0 : explain(2, comm, "not named");
        });
        expect_all(ranks, dies ? 1 : -1);
    }
}

}  // namespace

int main() { return run_all("device"); }
