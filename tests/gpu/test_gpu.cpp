// SPDX-License-Identifier: BSD-3-Clause
// Operations on a real GPU: one rank and several ranks through NCCL, and several ranks that share
// the GPU through CUDA IPC and through the host.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/gpu/gpu_tests.h"

using namespace ringrt::test;

namespace {

constexpr size_t kCounts[] = {1, 3, 1023, 1 << 20, (12 << 20) + 5};

struct Job {
    int ranks = 1;
    const char *route = "";  // RINGRT_GPU
    bool gpu_each = false;

    [[nodiscard]] bool by_nccl() const { return strcmp(route, "nccl") == 0; }
    // Returns whether there are enough GPUs.
    [[nodiscard]] bool enter(int rank) const {
        if (gpus() < (gpu_each ? ranks : 1)) return false;
        setenv("RINGRT_GPU", route, 1);
        if (by_nccl() && !gpu_each) let_nccl_share(rank);
        return cudaSetDevice(gpu_each ? rank : 0) == cudaSuccess;
    }
};

bool equal(const std::vector<float> &got, int ranks, size_t count, bool exactly) {
    std::vector<float> sum = data_of(0, count);
    for (int r = 1; r < ranks; ++r) {
        std::vector<float> next = data_of(r, count);
        for (size_t i = 0; i < count; ++i) sum[i] += next[i];
    }
    if (exactly) return memcmp(sum.data(), got.data(), count * sizeof(float)) == 0;
    for (size_t i = 0; i < count; ++i) {
        if (sum[i] - got[i] > 1e-5f || got[i] - sum[i] > 1e-5f) return false;
    }
    return true;
}

int sums(ringrt_t *rt, int rank, const Job &job) {
    const bool exactly = job.ranks == 1 || !job.by_nccl();
    cudaStream_t stream;
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(ringrt_set_stream(rt, stream) == RINGRT_OK);
    for (size_t count : kCounts) {
        size_t bytes = count * sizeof(float);
        std::vector<float> mine = data_of(rank, count), got(count);
        float *send, *recv;
        EXPECT(cudaMalloc(reinterpret_cast<void **>(&send), bytes) == cudaSuccess);
        EXPECT(cudaMalloc(reinterpret_cast<void **>(&recv), bytes) == cudaSuccess);
        for (bool in_place : {false, true}) {
            for (bool started : {false, true}) {
                float *to = in_place ? send : recv;
                // The sum must run after this, which the stream has not done yet.
                EXPECT(cudaMemsetAsync(send, 0xff, bytes, stream) == cudaSuccess);
                EXPECT(cudaMemcpyAsync(send, mine.data(), bytes, cudaMemcpyHostToDevice, stream) ==
                       cudaSuccess);
                ringrt_request_t *request = nullptr;
                if (started) {
                    EXPECT(ringrt_allreduce_start(send, to, count, RINGRT_FLOAT32, RINGRT_SUM, 0,
                                                  rt, &request) == RINGRT_OK);
                    EXPECT(ringrt_wait(request) == RINGRT_OK);
                } else {
                    EXPECT(ringrt_allreduce(send, to, count, RINGRT_FLOAT32, RINGRT_SUM, rt) ==
                           RINGRT_OK);
                }
                EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
                EXPECT(cudaMemcpy(got.data(), to, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
                EXPECT(equal(got, job.ranks, count, exactly));
            }
        }
        cudaFree(send), cudaFree(recv);
    }
    EXPECT(ringrt_set_stream(rt, nullptr) == RINGRT_OK);
    cudaStreamDestroy(stream);
    return kGood;
}

// A sum by NCCL returns while its stream is blocked; otherwise this never ends.
int in_stream_order(ringrt_t *rt, int rank) {
    constexpr size_t kCount = 1 << 20;
    std::atomic<bool> go = false;
    const auto stand_still = [](void *flag) {
        while (!*static_cast<std::atomic<bool> *>(flag)) std::this_thread::yield();
    };
    cudaStream_t stream;
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(ringrt_set_stream(rt, stream) == RINGRT_OK);
    float *data, *ones;
    std::vector<float> got(kCount);
    EXPECT(cudaMalloc(reinterpret_cast<void **>(&data), kCount * sizeof(float)) == cudaSuccess);
    // Pinned: a copy from other memory waits for the stream.
    EXPECT(cudaMallocHost(reinterpret_cast<void **>(&ones), kCount * sizeof(float)) == cudaSuccess);
    std::fill_n(ones, kCount, 1.0F);
    EXPECT(ringrt_allreduce(data, data, kCount, RINGRT_FLOAT32, RINGRT_SUM, rt) == RINGRT_OK);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaLaunchHostFunc(stream, stand_still, &go) == cudaSuccess);
    EXPECT(cudaMemcpyAsync(data, ones, kCount * sizeof(float), cudaMemcpyHostToDevice, stream) ==
           cudaSuccess);
    for (int i = 0; i < 3; ++i)
        EXPECT(ringrt_allreduce(data, data, kCount, RINGRT_FLOAT32, RINGRT_SUM, rt) == RINGRT_OK);
    go = true;
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaMemcpy(got.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost) ==
           cudaSuccess);
    const int ranks = ringrt_size(rt);
    for (float each : got) EXPECT(each == float(ranks * ranks * ranks));
    EXPECT(ringrt_set_stream(rt, nullptr) == RINGRT_OK);
    cudaFree(data), cudaFreeHost(ones), cudaStreamDestroy(stream);
    return kGood;
}

// Steps of gradients that do not divide by the ranks. Integers, so that every order gives the same
// sum.
int gradients(ringrt_t *rt, int rank) {
    constexpr size_t kSizes[] = {1, 4099, (3 << 20) + 7, 100};
    float *data[4];
    std::vector<float> host((3 << 20) + 7);
    cudaStream_t stream;
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(ringrt_set_stream(rt, stream) == RINGRT_OK);
    for (int g = 0; g < 4; ++g) {
        int id = -1;
        EXPECT(ringrt_gradient_register(rt, "g", kSizes[g], RINGRT_FLOAT32, RINGRT_SUM, &id) ==
               RINGRT_OK);
        EXPECT(cudaMalloc(reinterpret_cast<void **>(&data[g]), kSizes[g] * sizeof(float)) ==
               cudaSuccess);
    }
    for (int step = 0; step < 20; ++step) {
        for (int g = 3; g >= 0; --g) {
            std::fill(host.begin(), host.end(), float(step + g + rank));
            EXPECT(cudaMemcpyAsync(data[g], host.data(), kSizes[g] * sizeof(float),
                                   cudaMemcpyHostToDevice, stream) == cudaSuccess);
            EXPECT(ringrt_gradient_ready(rt, g, data[g]) == RINGRT_OK);
        }
        for (int g = 0; g < 4; ++g) {
            EXPECT(ringrt_gradient_wait(rt, g, nullptr) == RINGRT_OK);
            EXPECT(cudaMemcpyAsync(host.data(), data[g], kSizes[g] * sizeof(float),
                                   cudaMemcpyDeviceToHost, stream) == cudaSuccess);
            EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
            const int ranks = ringrt_size(rt);
            const float want = float(ranks * (step + g) + ranks * (ranks - 1) / 2);
            for (size_t i = 0; i < kSizes[g]; ++i) EXPECT(host[i] == want);
        }
    }
    for (float *each : data) cudaFree(each);
    EXPECT(ringrt_set_stream(rt, nullptr) == RINGRT_OK);
    cudaStreamDestroy(stream);
    return kGood;
}

// All dtypes and ops, compared bit by bit with host memory.
int as_on_the_host(ringrt_t *rt, int rank) {
    constexpr size_t kCount = 4099;
    constexpr size_t kBytes[] = {4, 8, 2, 2, 4, 8};
    std::mt19937 random{unsigned(rank)};
    for (int dtype = RINGRT_FLOAT32; dtype < RINGRT_UINT8; ++dtype) {
        for (int op = RINGRT_SUM; op <= RINGRT_PROD; ++op) {
            size_t bytes = kCount * kBytes[dtype];
            std::vector<unsigned char> mine(bytes), host(bytes), got(bytes);
            for (size_t i = 0; i < kCount; ++i) {  // numbers near 1, small integers
                float x = 0.5f + float(random() % 1000) / 1000;
                double wide = x;
                long long whole = long(random() % 9) - 4;
                unsigned bits;
                memcpy(&bits, &x, 4);
                unsigned short brain = static_cast<unsigned short>(bits >> 16),
                               half = static_cast<unsigned short>(0x3800 + random() % 0x600);
                const void *values[] = {&x, &wide, &half, &brain, &whole, &whole};
                memcpy(&mine[i * kBytes[dtype]], values[dtype], kBytes[dtype]);
            }
            void *data;
            EXPECT(cudaMalloc(&data, bytes) == cudaSuccess);
            EXPECT(cudaMemcpy(data, mine.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
            EXPECT(ringrt_allreduce(data, data, kCount, ringrt_dtype_t(dtype), ringrt_op_t(op),
                                    rt) == RINGRT_OK);
            EXPECT(ringrt_allreduce(mine.data(), host.data(), kCount, ringrt_dtype_t(dtype),
                                    ringrt_op_t(op), rt) == RINGRT_OK);
            EXPECT(cudaMemcpy(got.data(), data, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
            EXPECT(got == host);
            cudaFree(data);
        }
    }
    return kGood;
}

// A capture of the program's stream is refused and stays intact; one of another stream disturbs
// nothing, although the library's threads query the GPU meanwhile.
int beside_captures(ringrt_t *rt, int rank) {
    constexpr size_t kCount = 1 << 20;
    cudaStream_t sums, other;
    cudaGraph_t graph;
    float *data;
    EXPECT(cudaStreamCreateWithFlags(&sums, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(cudaMalloc(reinterpret_cast<void **>(&data), 2 * kCount * sizeof(float)) == cudaSuccess);
    EXPECT(ringrt_set_stream(rt, sums) == RINGRT_OK);
    EXPECT(cudaStreamBeginCapture(sums, cudaStreamCaptureModeGlobal) == cudaSuccess);
    EXPECT(cudaMemsetAsync(data, 0, kCount * sizeof(float), sums) == cudaSuccess);
    EXPECT(ringrt_allreduce(data, data, kCount, RINGRT_FLOAT32, RINGRT_SUM, rt) ==
           RINGRT_UNSUPPORTED);
    EXPECT(cudaStreamEndCapture(sums, &graph) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(cudaMemset(data, 0, 2 * kCount * sizeof(float)) == cudaSuccess);
    EXPECT(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal) == cudaSuccess);
    for (int i = 0; i < 20; ++i) {
        EXPECT(cudaMemsetAsync(data + kCount, 0, kCount, other) == cudaSuccess);
        EXPECT(ringrt_allreduce(data, data, kCount, RINGRT_FLOAT32, RINGRT_SUM, rt) == RINGRT_OK);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the library's thread looks
    }
    EXPECT(cudaStreamEndCapture(other, &graph) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(sums) == cudaSuccess);
    EXPECT(ringrt_set_stream(rt, nullptr) == RINGRT_OK);
    cudaFree(data), cudaStreamDestroy(sums), cudaStreamDestroy(other);
    return kGood;
}

int rank_of(const Job &job, const TemporaryDirectory &directory, int rank) {
    if (!job.enter(rank)) return kNoGpu;
    std::string meet = directory.path + "/meet";
    ringrt_config_t config = config_of(directory, meet, rank, job.ranks);
    ringrt_t *rt = nullptr;
    EXPECT(ringrt_init(&rt, &config) == RINGRT_OK);
    if (int code = sums(rt, rank, job); code != kGood) return code;
    if (!job.by_nccl() && as_on_the_host(rt, rank) != kGood) return 2;
    if (job.by_nccl() && in_stream_order(rt, rank) != kGood) return 4;
    if (gradients(rt, rank) != kGood) return 5;
    if (beside_captures(rt, rank) != kGood) return 6;
    return ringrt_finalize(rt) == RINGRT_OK ? int(kGood) : 3;
}

// A rank is killed between its sums: the others get an error and end.
int survivor(const Job &job, const TemporaryDirectory &directory, int rank) {
    if (!job.enter(rank)) return kNoGpu;
    std::string meet = directory.path + "/meet";
    ringrt_config_t config = config_of(directory, meet, rank, job.ranks);
    ringrt_t *rt = nullptr;
    EXPECT(ringrt_init(&rt, &config) == RINGRT_OK);
    void *data;
    EXPECT(cudaMalloc(&data, 4 << 20) == cudaSuccess);
    for (int i = 0;; ++i) {
        if (rank == 1 && i == 20) raise(SIGKILL);
        ringrt_status_t status =
            ringrt_allreduce(data, data, 1 << 20, RINGRT_FLOAT32, RINGRT_SUM, rt);
        if (status == RINGRT_OK) continue;
        EXPECT(status == RINGRT_PEER_LOST && strstr(ringrt_last_error(rt), "rank 1"));
        // Nothing in the stream waits for the lost rank.
        EXPECT(cudaDeviceSynchronize() == cudaSuccess);
        ringrt_finalize(rt);
        return kGood;
    }
}

// Communicators (ringrt_comm.h): whole numbers, which every order adds to the same sum.
#define EXPECT_COMM(condition)                                                        \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, __LINE__, #condition, \
                    ringrt_comm_last_error(comm));                                    \
            return 1;                                                                 \
        }                                                                             \
    } while (0)

int communicates(const Job &job, const TemporaryDirectory &directory, int rank) {
    constexpr size_t kCount = 100003;
    if (!job.enter(rank)) return kNoGpu;
    const std::string meet = directory.path + "/meet";
    ringrt_comm_config_t config = RINGRT_COMM_CONFIG_INIT;
    config.rank = rank, config.size = job.ranks, config.rendezvous = meet.c_str();
    ringrt_comm_t *comm = nullptr;
    cudaStream_t stream;
    const auto size = size_t(job.ranks);
    const int64_t sum = int64_t(size * (size + 1) / 2);
    int64_t *send, *recv;
    std::vector<int64_t> mine(kCount * size, rank + 1), got(kCount * size);
    EXPECT_COMM(ringrt_comm_create(&comm, &config) == RINGRT_OK);
    EXPECT_COMM(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT_COMM(ringrt_comm_set_stream(comm, stream) == RINGRT_OK);
    const size_t bytes = mine.size() * sizeof(int64_t);
    EXPECT_COMM(cudaMalloc(reinterpret_cast<void **>(&send), bytes) == cudaSuccess);
    EXPECT_COMM(cudaMalloc(reinterpret_cast<void **>(&recv), bytes) == cudaSuccess);
    EXPECT_COMM(cudaMemcpy(send, mine.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    const auto holds = [&](size_t first, int64_t right) {
        if (cudaStreamSynchronize(stream) != cudaSuccess ||
            cudaMemcpy(got.data(), recv, bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
            return false;
        return std::count(&got[first], &got[first] + kCount, right) == ptrdiff_t(kCount);
    };
    EXPECT_COMM(ringrt_comm_allreduce(send, recv, kCount, RINGRT_INT64, RINGRT_SUM, comm,
                                      nullptr) == RINGRT_OK);
    EXPECT_COMM(holds(0, sum));
    EXPECT_COMM(ringrt_comm_reduce_scatter(send, recv, kCount, RINGRT_INT64, RINGRT_SUM, comm,
                                           nullptr) == RINGRT_OK);
    EXPECT_COMM(holds(0, sum));
    EXPECT_COMM(ringrt_comm_allgather(send, recv, kCount, RINGRT_INT64, comm, nullptr) ==
                RINGRT_OK);
    for (size_t r = 0; r < size; ++r) EXPECT_COMM(holds(r * kCount, int64_t(r) + 1));
    const int root = job.ranks - 1;
    EXPECT_COMM(ringrt_comm_reduce(send, recv, kCount, RINGRT_INT64, RINGRT_MAX, root, comm,
                                   nullptr) == RINGRT_OK);
    EXPECT_COMM(rank != root || holds(0, root + 1));
    EXPECT_COMM(ringrt_comm_broadcast(send, recv, kCount, RINGRT_INT64, root, comm, nullptr) ==
                RINGRT_OK);
    EXPECT_COMM(holds(0, root + 1));
    cudaFree(send), cudaFree(recv), cudaStreamDestroy(stream);
    return ringrt_comm_destroy(comm) == RINGRT_OK ? int(kGood) : 2;
}

using Body = int(const Job &, const TemporaryDirectory &, int rank);

void run(Tap &tap, const char *name, const Job &job, Body *body = rank_of, int except = -1) {
    TemporaryDirectory directory;
    Ranks ranks(job.ranks, [&](int rank) { return body(job, directory, rank); });
    tap.report(name, ranks.wait(60, except), except);
}

}  // namespace

int main() {
    int version = 0;
    ncclGetVersion(&version);
    printf("# NCCL %d\n", version);
    Tap tap(14);
    run(tap, "one rank by NCCL", {1, "nccl"});
    run(tap, "one rank, as found best", {1, ""});
    run(tap, "two ranks by NCCL, which takes them for two hosts", {2, "nccl"});
    run(tap, "three ranks by NCCL", {3, "nccl"});
    run(tap, "two ranks share a GPU by CUDA IPC", {2, "ipc"});
    run(tap, "four ranks share a GPU, as found best", {4, ""});
    run(tap, "three ranks share a GPU through the host", {3, "host"});
    run(tap, "a rank that shares the GPU is killed", {3, ""}, survivor, 1);
    run(tap, "a rank is killed in NCCL", {3, "nccl"}, survivor, 1);
    run(tap, "a communicator's operations, by NCCL", {3, "nccl"}, communicates);
    run(tap, "a communicator's operations, on a shared GPU", {3, ""}, communicates);
    run(tap, "two GPUs by NCCL", {2, "nccl", true});
    run(tap, "two GPUs, through the host", {2, "host", true});
    run(tap, "a communicator's operations, on two GPUs", {2, "nccl", true}, communicates);
    return tap.status();
}
