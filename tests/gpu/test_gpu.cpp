// SPDX-License-Identifier: BSD-3-Clause
// Runs on a real GPU: one rank through NCCL, device buffers and streams, several ranks that share
// the GPU through CUDA IPC and through the host, and checkpoints of device buffers. Prints TAP on
// standard output; exits with 77 if there is no GPU. Ranks are forked before any CUDA call, because
// CUDA does not survive a fork.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "libringrt/ringrt.h"
#include "tests/support/ranks.h"

using namespace ringrt::test;

namespace {

constexpr size_t kCounts[] = {1, 3, 1023, 1 << 20, (12 << 20) + 5};
enum Code { kGood = 0, kNoGpu = 77 };

int gpus() {
    int number = 0;
    return cudaGetDeviceCount(&number) == cudaSuccess ? number : 0;
}

struct Job {
    int ranks = 1;
    const char *route = "";  // RINGRT_GPU
    bool gpu_each = false;
};

std::vector<float> data_of(int rank, size_t count) {
    std::mt19937 random{unsigned(rank)};
    std::uniform_real_distribution<float> each(-1, 1);
    std::vector<float> data(count);
    for (float &x : data) x = each(random);
    return data;
}

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

#define EXPECT(condition)                                                             \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, __LINE__, #condition, \
                    ringrt_last_error(rt));                                           \
            return 1;                                                                 \
        }                                                                             \
    } while (0)

int sums(ringrt_t *rt, int rank, const Job &job) {
    bool exactly = job.ranks == 1 || strcmp(job.route, "nccl") != 0;
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
                    EXPECT(ringrt_allreduce_start(rt, send, to, count, RINGRT_FLOAT32, RINGRT_SUM,
                                                  0, &request) == RINGRT_OK);
                    EXPECT(ringrt_wait(rt, request) == RINGRT_OK);
                } else {
                    EXPECT(ringrt_allreduce(rt, send, to, count, RINGRT_FLOAT32, RINGRT_SUM) ==
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
    float *data;
    std::vector<float> ones(kCount, 1), got(kCount);
    EXPECT(cudaMalloc(reinterpret_cast<void **>(&data), kCount * sizeof(float)) == cudaSuccess);
    EXPECT(ringrt_allreduce(rt, data, data, kCount, RINGRT_FLOAT32, RINGRT_SUM) == RINGRT_OK);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaLaunchHostFunc(stream, stand_still, &go) == cudaSuccess);
    EXPECT(cudaMemcpyAsync(data, ones.data(), kCount * sizeof(float), cudaMemcpyHostToDevice,
                           stream) == cudaSuccess);
    for (int i = 0; i < 3; ++i)
        EXPECT(ringrt_allreduce(rt, data, data, kCount, RINGRT_FLOAT32, RINGRT_SUM) == RINGRT_OK);
    go = true;
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaMemcpy(got.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost) ==
           cudaSuccess);
    const int ranks = ringrt_size(rt);
    for (float each : got) EXPECT(each == float(ranks * ranks * ranks));
    EXPECT(ringrt_set_stream(rt, nullptr) == RINGRT_OK);
    cudaFree(data), cudaStreamDestroy(stream);
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
            EXPECT(ringrt_allreduce(rt, data, data, kCount, ringrt_dtype_t(dtype),
                                    ringrt_op_t(op)) == RINGRT_OK);
            EXPECT(ringrt_allreduce(rt, mine.data(), host.data(), kCount, ringrt_dtype_t(dtype),
                                    ringrt_op_t(op)) == RINGRT_OK);
            EXPECT(cudaMemcpy(got.data(), data, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
            EXPECT(got == host);
            cudaFree(data);
        }
    }
    return kGood;
}

ringrt_config_t config_of(const TemporaryDirectory &directory, const std::string &meet, int rank,
                          int size) {
    ringrt_config_t config = ringrt_config_init();
    config.rank = rank, config.size = size;
    config.checkpoint_dir = directory.path.c_str(), config.rendezvous = meet.c_str();
    config.timeout_ms = 60000;
    return config;
}

int rank_of(const Job &job, const TemporaryDirectory &directory, int rank) {
    if (gpus() < (job.gpu_each ? job.ranks : 1)) return kNoGpu;
    setenv("RINGRT_GPU", job.route, 1);
    cudaSetDevice(job.gpu_each ? rank : 0);
    std::string meet = directory.path + "/meet";
    ringrt_config_t config = config_of(directory, meet, rank, job.ranks);
    ringrt_t *rt = nullptr;
    EXPECT(ringrt_init(&rt, &config) == RINGRT_OK);
    if (int code = sums(rt, rank, job); code != kGood) return code;
    bool with_nccl = strcmp(job.route, "nccl") == 0;
    if (!with_nccl && as_on_the_host(rt, rank) != kGood) return 2;
    if (with_nccl && in_stream_order(rt, rank) != kGood) return 4;
    if (gradients(rt, rank) != kGood) return 5;
    return ringrt_finalize(rt) == RINGRT_OK ? int(kGood) : 3;
}

// A rank is killed between its sums: the others get an error and end.
int survivor(const Job &job, const TemporaryDirectory &directory, int rank) {
    if (gpus() < 1) return kNoGpu;
    setenv("RINGRT_GPU", job.route, 1);
    std::string meet = directory.path + "/meet";
    ringrt_config_t config = config_of(directory, meet, rank, job.ranks);
    ringrt_t *rt = nullptr;
    EXPECT(ringrt_init(&rt, &config) == RINGRT_OK);
    void *data;
    EXPECT(cudaMalloc(&data, 4 << 20) == cudaSuccess);
    for (int i = 0;; ++i) {
        if (rank == 1 && i == 20) raise(SIGKILL);
        ringrt_status_t status =
            ringrt_allreduce(rt, data, data, 1 << 20, RINGRT_FLOAT32, RINGRT_SUM);
        if (status == RINGRT_OK) continue;
        EXPECT(status == RINGRT_PEER_LOST && strstr(ringrt_last_error(rt), "rank 1"));
        ringrt_finalize(rt);
        return kGood;
    }
}

// A buffer that all ranks hold, larger than the staging, and rows of uneven counts.
struct State {
    static constexpr uint64_t kFloats = (12 << 20) + 5, kRows = 37, kRowFloats = 4099;
    uint64_t first_row, rows;
    float *whole = nullptr, *part = nullptr;

    static bool make(bool on_gpu, size_t floats, float **out) {
        if (on_gpu)
            return cudaMalloc(reinterpret_cast<void **>(out), floats * sizeof(float) + 1) ==
                   cudaSuccess;
        *out = new float[floats + 1];
        return true;
    }
    bool make_all(bool on_gpu, int rank, int size) {
        first_row = kRows * uint64_t(rank) * uint64_t(rank) / uint64_t(size * size);
        rows = kRows * uint64_t(rank + 1) * uint64_t(rank + 1) / uint64_t(size * size) - first_row;
        return make(on_gpu, kFloats, &whole) && make(on_gpu, rows * kRowFloats, &part);
    }
    ringrt_status_t register_all(ringrt_t *rt) const {
        const uint64_t shape[] = {kFloats}, by_rows[] = {kRows, kRowFloats};
        const ringrt_status_t status =
            ringrt_register(rt, "whole", whole, RINGRT_FLOAT32, 1, shape);
        if (status != RINGRT_OK) return status;
        return ringrt_register_rows(rt, "part", part, RINGRT_FLOAT32, 2, by_rows, first_row, rows);
    }
    // The values at a step.
    static std::vector<float> whole_at(int step) { return data_of(step, kFloats); }
    [[nodiscard]] std::vector<float> part_at(int step) const {
        const std::vector<float> all = data_of(step + 1000, kRows * kRowFloats);
        const auto first = all.begin() + ptrdiff_t(first_row * kRowFloats);
        return {first, first + ptrdiff_t(rows * kRowFloats)};
    }
};

// Saves GPU buffers that the stream has yet to write, or loads them into GPU or host memory.
int checkpointed(const TemporaryDirectory &directory, int rank, int size, bool saves, bool on_gpu) {
    if (gpus() < 1) return kNoGpu;
    std::string meet = directory.path + "/meet-" + std::to_string(saves) + std::to_string(on_gpu);
    ringrt_config_t config = config_of(directory, meet, rank, size);
    ringrt_t *rt = nullptr;
    State state;
    cudaStream_t stream;
    uint64_t step = 0;
    EXPECT(ringrt_init(&rt, &config) == RINGRT_OK);
    EXPECT(state.make_all(on_gpu, rank, size));
    EXPECT(state.register_all(rt) == RINGRT_OK);
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(ringrt_set_stream(rt, stream) == RINGRT_OK);
    const std::vector<float> whole = State::whole_at(7), part = state.part_at(7);
    const size_t whole_bytes = whole.size() * sizeof(float),
                 part_bytes = part.size() * sizeof(float);
    if (saves) {
        EXPECT(cudaMemsetAsync(state.whole, 0xff, whole_bytes, stream) == cudaSuccess);
        EXPECT(cudaMemcpyAsync(state.whole, whole.data(), whole_bytes, cudaMemcpyHostToDevice,
                               stream) == cudaSuccess);
        EXPECT(cudaMemcpyAsync(state.part, part.data(), part_bytes, cudaMemcpyHostToDevice,
                               stream) == cudaSuccess);
        EXPECT(ringrt_save(rt, 7) == RINGRT_OK);
    } else {
        std::vector<float> got(whole.size());
        EXPECT(ringrt_restore(rt, &step) == RINGRT_OK && step == 7);
        EXPECT(cudaMemcpy(got.data(), state.whole, whole_bytes, cudaMemcpyDefault) == cudaSuccess);
        EXPECT(got == whole);
        got.resize(part.size());
        EXPECT(cudaMemcpy(got.data(), state.part, part_bytes, cudaMemcpyDefault) == cudaSuccess);
        EXPECT(got == part);
    }
    return ringrt_finalize(rt) == RINGRT_OK ? int(kGood) : 3;
}

int tests = 0, failed = 0, skipped = 0;

void report(const char *name, const std::vector<int> &codes, int except = -1) {
    bool good = true, skip = false;
    for (size_t r = 0; r < codes.size(); ++r) {
        if (int(r) == except) continue;
        good = good && (codes[r] == kGood || codes[r] == kNoGpu);
        skip = skip || codes[r] == kNoGpu;
    }
    failed += !good, skipped += skip;
    printf("%s %d - %s%s\n", good ? "ok" : "not ok", ++tests, name,
           skip ? " # SKIP not so many GPUs here" : "");
}

void run(const char *name, const Job &job) {
    TemporaryDirectory directory;
    Ranks ranks(job.ranks, [&](int rank) { return rank_of(job, directory, rank); });
    report(name, ranks.wait(240));
}

void lose_one(const char *name, const Job &job) {
    TemporaryDirectory directory;
    Ranks ranks(job.ranks, [&](int rank) { return survivor(job, directory, rank); });
    report(name, ranks.wait(120, 1), 1);
}

// Saved at `saved` ranks and loaded at `loaded`, on one GPU.
void save_and_load(const char *name, int saved, int loaded, bool to_gpu) {
    TemporaryDirectory directory;
    std::vector<int> codes = Ranks(saved, [&](int rank) {
                                 return checkpointed(directory, rank, saved, true, true);
                             }).wait(120);
    const std::vector<int> then = Ranks(loaded, [&](int rank) {
                                      return checkpointed(directory, rank, loaded, false, to_gpu);
                                  }).wait(120);
    codes.insert(codes.end(), then.begin(), then.end());
    report(name, codes);
}

}  // namespace

int main() {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    int version = 0;
    ncclGetVersion(&version);
    printf("# NCCL %d\n1..10\n", version);
    run("one rank by NCCL", {1, "nccl"});
    run("one rank, as found best", {1, ""});
    run("two ranks share a GPU by CUDA IPC", {2, "ipc"});
    run("four ranks share a GPU, as found best", {4, ""});
    run("three ranks share a GPU through the host", {3, "host"});
    lose_one("a rank that shares the GPU is killed", {3, ""});
    run("two GPUs by NCCL", {2, "nccl", true});
    run("two GPUs, through the host", {2, "host", true});
    save_and_load("a checkpoint of two ranks' buffers on a GPU, loaded by three", 2, 3, true);
    save_and_load("the same, loaded to the host's memory", 2, 1, false);
    if (failed > 0) return 1;
    return skipped == tests ? kNoGpu : 0;
}
