// SPDX-License-Identifier: BSD-3-Clause
// Communicators (ringrt_comm.h) with buffers in the memory of a mock GPU
// (tests/support/fake_gpu.h).
#include <algorithm>
#include <cstdint>
#include <vector>

#include "libringrt/gpu/gpu.h"
#include "tests/multiproc/comm_ranks.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/hidden_gpu.h"

using namespace ringrt::test;

namespace {

FakeGpuPlan plan;                // of this rank
HiddenDevice *hidden = nullptr;  // its GPU, if the host cannot touch its memory

}  // namespace

// Replaces the library's: linked before it.
std::unique_ptr<ringrt::Gpu> ringrt::find_gpu() {
    if (hidden != nullptr) return std::make_unique<HiddenGpu>(*hidden);
    return std::make_unique<FakeGpu>(plan);
}

namespace {

constexpr size_t kCount = 1003;  // of a block

template <class T>
T *on_gpu(size_t count) {
    return static_cast<T *>(FakeGpu::make(count * sizeof(T)));
}

struct Route {
    bool own_gpu, nccl;  // of each rank
};

// `body` at every rank, on the mock's memory.
void on_gpus(Layout layout, Route route, const CommBody &body) {
    on_comms(layout, body, -1, kTestTimeout_ms,
             [&](int rank) { plan = {.number = route.own_gpu ? rank : 0, .nccl = route.nccl}; });
}

std::string all_are(const int64_t *values, size_t count, int64_t right, const char *what) {
    const auto same = std::count(values, values + count, right);
    if (same == static_cast<ptrdiff_t>(count)) return "";
    return std::string(what) + ": " + std::to_string(count - static_cast<size_t>(same)) + " wrong";
}

std::string every_operation(ringrt_comm_t *comm, bool by_request) {
    const auto size = static_cast<size_t>(ringrt_comm_size(comm));
    const int rank = ringrt_comm_rank(comm);
    const int64_t sum = static_cast<int64_t>(size * (size + 1) / 2);
    auto *send = on_gpu<int64_t>(kCount * size), *recv = on_gpu<int64_t>(kCount * size);
    ringrt_request_t *made = nullptr;
    ringrt_request_t **request = by_request ? &made : nullptr;
    const auto done = [&](ringrt_status_t status) {
        if (status == RINGRT_OK && by_request) status = ringrt_wait(made);
        return expect(comm, status, RINGRT_OK);
    };
    std::fill_n(send, kCount * size, rank + 1);
    TRY_TEXT(
        done(ringrt_comm_allreduce(send, recv, kCount, RINGRT_INT64, RINGRT_SUM, comm, request)));
    TRY_TEXT(all_are(recv, kCount, sum, "allreduce"));
    TRY_TEXT(done(
        ringrt_comm_reduce_scatter(send, recv, kCount, RINGRT_INT64, RINGRT_SUM, comm, request)));
    TRY_TEXT(all_are(recv, kCount, sum, "reduce_scatter"));
    int64_t *own = recv + kCount * static_cast<size_t>(rank);
    std::fill_n(recv, kCount * size, rank + 1);
    TRY_TEXT(done(
        ringrt_comm_reduce_scatter(recv, own, kCount, RINGRT_INT64, RINGRT_SUM, comm, request)));
    TRY_TEXT(all_are(own, kCount, sum, "reduce_scatter in place"));
    if (std::count(recv, recv + kCount * size, rank + 1) <
        static_cast<ptrdiff_t>(kCount * (size - 1)))
        return "reduce_scatter in place wrote elsewhere";
    TRY_TEXT(done(ringrt_comm_allgather(send, recv, kCount, RINGRT_INT64, comm, request)));
    for (size_t r = 0; r < size; ++r)
        TRY_TEXT(all_are(recv + r * kCount, kCount, static_cast<int64_t>(r) + 1, "allgather"));
    const int root = static_cast<int>(size) - 1;
    std::fill_n(recv, kCount, -1);
    TRY_TEXT(done(ringrt_comm_reduce(send, rank == root ? recv : nullptr, kCount, RINGRT_INT64,
                                     RINGRT_MAX, root, comm, request)));
    TRY_TEXT(all_are(recv, kCount, rank == root ? root + 1 : -1, "reduce"));
    TRY_TEXT(done(ringrt_comm_broadcast(send, recv, kCount, RINGRT_INT64, root, comm, request)));
    TRY_TEXT(all_are(recv, kCount, root + 1, "broadcast"));
    // From the GPU to the host and back.
    std::vector<int64_t> host(kCount * size);
    TRY_TEXT(done(ringrt_comm_allgather(send, host.data(), kCount, RINGRT_INT64, comm, request)));
    TRY_TEXT(all_are(host.data(), kCount, 1, "allgather to host memory"));
    return "";
}

}  // namespace

TEST(every_operation_of_gpu_memory) {
    for (const Route route : {Route{true, true}, Route{true, false}, Route{false, true}})
        for (const Layout layout : {Layout{1, 1}, Layout{2, 1}, Layout{3, 1}, Layout{4, 2}})
            on_gpus(layout, route, [](ringrt_comm_t *comm) -> std::string {
                TRY_TEXT(every_operation(comm, false));
                return every_operation(comm, true);
            });
}

// A kernel would fault, and end the context with all that the program has in it.
TEST(gpu_memory_that_is_not_aligned_to_its_type_is_refused) {
    on_gpus({1, 1}, {true, true}, [](ringrt_comm_t *comm) -> std::string {
        auto *x = on_gpu<char>(8 * sizeof(float));
        float here[4] = {};
        auto refused = [&](ringrt_status_t status) {
            return expect(comm, status, RINGRT_INVALID_ARGUMENT, "is not aligned to its dtype");
        };
        const auto sum = RINGRT_SUM;
        TRY_TEXT(
            refused(ringrt_comm_allreduce(x + 2, x + 2, 4, RINGRT_FLOAT32, sum, comm, nullptr)));
        TRY_TEXT(refused(ringrt_comm_reduce(x, x + 17, 4, RINGRT_FLOAT32, sum, 0, comm, nullptr)));
        TRY_TEXT(
            refused(ringrt_comm_reduce_scatter(x, x + 17, 4, RINGRT_FLOAT32, sum, comm, nullptr)));
        TRY_TEXT(refused(ringrt_comm_allgather(x + 1, here, 4, RINGRT_FLOAT32, comm, nullptr)));
        TRY_TEXT(refused(ringrt_comm_broadcast(here, x + 2, 2, RINGRT_INT64, 0, comm, nullptr)));
        return expect(comm, ringrt_comm_allreduce(x + 1, x + 1, 4, RINGRT_INT8, sum, comm, nullptr),
                      RINGRT_OK);
    });
}

// An access by the host ends the rank. By requests too, which another thread runs.
TEST(the_host_touches_no_gpu_memory) {
    for (const int ranks : {1, 2, 3})
        on_comms(
            {ranks, 1},
            [](ringrt_comm_t *comm) -> std::string {
                const auto size = static_cast<size_t>(ringrt_comm_size(comm));
                const int root = ringrt_comm_size(comm) - 1;
                auto *send = hidden->make<int64_t>(kCount * size),
                     *recv = hidden->make<int64_t>(kCount * size);
                std::fill_n(hidden->behind(send), kCount * size, ringrt_comm_rank(comm) + 1);
                const auto sum = static_cast<int64_t>(size * (size + 1) / 2);
                const auto done = [&](ringrt_status_t status) {
                    return expect(comm, status, RINGRT_OK);
                };
                const auto got = [&](int64_t right, const char *what) {
                    return all_are(hidden->behind(recv), kCount, right, what);
                };
                TRY_TEXT(done(
                    ringrt_comm_broadcast(send, recv, kCount, RINGRT_INT64, root, comm, nullptr)));
                TRY_TEXT(got(root + 1, "broadcast"));
                TRY_TEXT(done(ringrt_comm_reduce(send, recv, kCount, RINGRT_INT64, RINGRT_SUM, 0,
                                                 comm, nullptr)));
                if (ringrt_comm_rank(comm) == 0) TRY_TEXT(got(sum, "reduce"));
                TRY_TEXT(done(ringrt_comm_allreduce(send, recv, kCount, RINGRT_INT64, RINGRT_SUM,
                                                    comm, nullptr)));
                TRY_TEXT(got(sum, "allreduce"));
                TRY_TEXT(done(ringrt_comm_reduce_scatter(send, recv, kCount, RINGRT_INT64,
                                                         RINGRT_SUM, comm, nullptr)));
                TRY_TEXT(got(sum, "reduce_scatter"));
                TRY_TEXT(
                    done(ringrt_comm_allgather(send, recv, kCount, RINGRT_INT64, comm, nullptr)));
                return got(1, "allgather");
            },
            -1, kTestTimeout_ms,
            [](int) {
                setenv("RINGRT_GPU", "host", 1);
                hidden = new HiddenDevice;
                hidden->takes_any_memory = true;
            });
}

// At every type: NCCL's, through the host, and where ranks share a GPU.
TEST(every_type_in_gpu_memory) {
    for (const Route route : {Route{true, true}, Route{true, false}, Route{false, false}})
        on_gpus({2, 1}, route, [](ringrt_comm_t *comm) -> std::string {
            auto *bytes = on_gpu<uint8_t>(4096);
            for (int dtype = RINGRT_FLOAT32; dtype <= RINGRT_UINT64; ++dtype) {
                std::fill_n(bytes, 4096, 0);  // 0 + 0 is 0 in every type
                std::fill_n(bytes + 64 * 8, 8, 0x77);
                TRY_TEXT(expect(
                    comm,
                    ringrt_comm_allreduce(bytes, bytes, 64, static_cast<ringrt_dtype_t>(dtype),
                                          RINGRT_SUM, comm, nullptr),
                    RINGRT_OK));
                if (bytes[0] != 0 || bytes[64 * 8] != 0x77) return "dtype " + std::to_string(dtype);
            }
            std::fill_n(bytes, 4, 0x38);  // 1.0 of e4m3
            TRY_TEXT(expect(comm,
                            ringrt_comm_allreduce(bytes, bytes, 4, RINGRT_FLOAT8_E4M3, RINGRT_SUM,
                                                  comm, nullptr),
                            RINGRT_OK));
            return bytes[0] == 0x40 && bytes[3] == 0x40 ? "" : "1 + 1 is not 2 in e4m3";
        });
}

TEST(what_takes_host_memory_only_refuses_the_gpus) {
    on_gpus({2, 1}, {true, true}, [](ringrt_comm_t *comm) -> std::string {
        auto *gpu = on_gpu<float>(64);
        std::vector<float> host(64);
        const int peer = 1 - ringrt_comm_rank(comm);
        const char *line = "takes host memory";
        TRY_TEXT(expect(comm,
                        ringrt_comm_alltoall(gpu, host.data(), 8, RINGRT_FLOAT32, comm, nullptr),
                        RINGRT_UNSUPPORTED, line));
        TRY_TEXT(expect(comm,
                        ringrt_comm_gather(gpu, host.data(), 8, RINGRT_FLOAT32, 0, comm, nullptr),
                        RINGRT_UNSUPPORTED, line));
        TRY_TEXT(expect(comm, ringrt_comm_send(gpu, 8, RINGRT_FLOAT32, peer, 0, comm, nullptr),
                        RINGRT_UNSUPPORTED, line));
        TRY_TEXT(expect(
            comm,
            ringrt_comm_allreduce(gpu, host.data(), 8, RINGRT_FLOAT32, RINGRT_SUM, comm, nullptr),
            RINGRT_INVALID_ARGUMENT, "not both"));
        return expect(comm, ringrt_comm_barrier(comm, nullptr), RINGRT_OK);  // nothing has begun
    });
}

// NCCL hangs: the operations are stream-ordered, so they return, and the time-out is a later
// call's.
TEST(nccl_is_stream_ordered) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        plan = {.number = rank, .hang = true};
        DirectoryStore store(directory.path);
        ringrt_comm_config_t config = config_of({2, 1}, rank);
        config.store = &store.callbacks;
        config.timeout_ms = 300;
        ringrt_comm_t *comm = nullptr;
        if (ringrt_comm_create(&comm, &config) != RINGRT_OK) return 1;
        auto *x = on_gpu<float>(64), *y = on_gpu<float>(64);
        if (ringrt_comm_set_stream(comm, nullptr) != RINGRT_OK) return 2;
        if (ringrt_comm_allreduce(x, x, 8, RINGRT_FLOAT32, RINGRT_SUM, comm, nullptr) != RINGRT_OK)
            return 3;
        if (ringrt_comm_reduce_scatter(x, y, 8, RINGRT_FLOAT32, RINGRT_SUM, comm, nullptr) !=
            RINGRT_OK)
            return 4;
        if (ringrt_comm_allgather(y, x, 8, RINGRT_FLOAT32, comm, nullptr) != RINGRT_OK) return 5;
        ringrt_status_t status = RINGRT_OK;
        for (int i = 0; i < 20000 && status == RINGRT_OK; ++i) {
            usleep(1000);
            (void)ringrt_comm_async_error(comm, &status);
        }
        const bool failed = status == RINGRT_TIMEOUT || status == RINGRT_PEER_LOST;
        const bool later = ringrt_comm_barrier(comm, nullptr) == status;
        ringrt_comm_destroy(comm);
        return failed && later ? 0 : 6;
    });
    for (const int ended : ranks.wait(60 * kTimeoutScale)) ck_assert_int_eq(ended, 0);
}

int main() { return run_all("comm_gpu"); }
