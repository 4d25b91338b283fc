// SPDX-License-Identifier: BSD-3-Clause
// measure_gpu [--bytes N] [--directory DIRECTORY] [SECTION...] - times of ringrt on this machine's
// first GPU, beside NCCL called directly. Sections: calls, shared, overlap, checkpoint, in-place.
// Calls are timed as nccl-tests does: many in a row between two events, out of place; the two
// libraries take turns, and a table shows medians.
#include "tests/gpu/measure_gpu.h"

#include <nccl.h>

#include <cstring>
#include <functional>

#include "tests/gpu/gpu_tests.h"

using namespace ringrt::test;

namespace {

constexpr int kRounds = 11;

// One rank's handle, stream and buffers, and a communicator of NCCL beside it.
struct Bench {
    ringrt_t *rt = nullptr;
    ncclComm_t nccl = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t first = nullptr, last = nullptr;
    float *send = nullptr, *recv = nullptr;
    int rank = 0, ranks = 1;

    bool open(const TemporaryDirectory &directory, int rank_, int ranks_, const char *route,
              size_t bytes) {
        rank = rank_, ranks = ranks_;
        setenv("RINGRT_GPU", route, 1);
        const bool by_nccl = strcmp(route, "nccl") == 0;
        if (by_nccl && ranks > 1) let_nccl_share(rank);
        const std::string meet = directory.path + "/meet";
        ringrt_config_t config = config_of(directory, meet, rank, ranks);
        if (gpus() < 1 || ringrt_init(&rt, &config) != RINGRT_OK) return false;
        ncclUniqueId id;
        if (rank == 0 && ncclGetUniqueId(&id) != ncclSuccess) return false;
        if (ringrt_broadcast(&id, &id, sizeof id, RINGRT_UINT8, 0, rt) != RINGRT_OK) return false;
        if (by_nccl && ncclCommInitRank(&nccl, ranks, id, rank) != ncclSuccess) return false;
        return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
               cudaEventCreate(&first) == cudaSuccess && cudaEventCreate(&last) == cudaSuccess &&
               cudaMalloc(reinterpret_cast<void **>(&send), bytes) == cudaSuccess &&
               cudaMalloc(reinterpret_cast<void **>(&recv), bytes) == cudaSuccess &&
               cudaMemset(send, 0, bytes) == cudaSuccess &&
               ringrt_set_stream(rt, stream) == RINGRT_OK;
    }
    bool by_ringrt(size_t count) const {
        return ringrt_allreduce(send, recv, count, RINGRT_FLOAT32, RINGRT_SUM, rt) == RINGRT_OK;
    }
    bool directly(size_t count) const {
        return ncclAllReduce(send, recv, count, ncclFloat, ncclSum, nccl, stream) == ncclSuccess;
    }
    bool synchronize() const { return cudaStreamSynchronize(stream) == cudaSuccess; }
    int close() {
        if (nccl != nullptr) ncclCommDestroy(nccl);
        return ringrt_finalize(rt) == RINGRT_OK ? 0 : 1;
    }
};

struct Times {
    std::vector<double> host_us, us,
        alone_us;  // of a call: in the host, in a row, and until its end
};

bool time_calls(const Bench &bench, int calls, const std::function<bool()> &call, Times &out) {
    float ms = 0;
    if (ringrt_barrier(bench.rt) != RINGRT_OK || !bench.synchronize()) return false;
    if (cudaEventRecord(bench.first, bench.stream) != cudaSuccess) return false;
    const double began = now_us();
    for (int i = 0; i < calls; ++i)
        if (!call()) return false;
    const double enqueued = now_us();
    if (cudaEventRecord(bench.last, bench.stream) != cudaSuccess || !bench.synchronize())
        return false;
    if (cudaEventElapsedTime(&ms, bench.first, bench.last) != cudaSuccess) return false;
    out.host_us.push_back((enqueued - began) / calls);
    out.us.push_back(1000.0 * double(ms) / calls);
    const double alone = now_us();
    if (!call() || !bench.synchronize()) return false;
    out.alone_us.push_back(now_us() - alone);
    return true;
}

int calls_in(size_t bytes, int ranks) {
    const size_t slower = ranks > 1 ? 16 : 1;  // over sockets
    return bytes * slower <= 1 << 20 ? 100 : bytes * slower <= 64 << 20 ? 10 : 4;
}

int measure_calls(const TemporaryDirectory &directory, int rank, int ranks) {
    std::vector<size_t> sizes{8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20};
    if (ranks == 1) sizes.push_back(1 << 30);
    Bench bench;
    if (!bench.open(directory, rank, ranks, "nccl", sizes.back())) return 1;
    if (rank == 0) {
        printf("\n### NCCL, %d rank%s on one GPU%s\n\n", ranks, ranks > 1 ? "s" : "",
               ranks > 1 ? ", over loopback sockets" : "");
        printf(
            "| bytes | host µs per call: ringrt | NCCL | µs until its end: ringrt | NCCL | µs in a "
            "row: ringrt | NCCL | GB/s: ringrt | NCCL | ringrt / NCCL |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    }
    for (const size_t bytes : sizes) {
        const size_t count = bytes / sizeof(float);
        const int calls = calls_in(bytes, ranks);
        Times ringrt, nccl;
        for (int round = -2; round < (ranks > 1 ? 5 : kRounds); ++round) {
            if (round == 0) ringrt = {}, nccl = {};  // those before warmed up
            if (!time_calls(
                    bench, calls, [&] { return bench.by_ringrt(count); }, ringrt) ||
                !time_calls(
                    bench, calls, [&] { return bench.directly(count); }, nccl))
                return 2;
        }
        if (rank != 0) continue;
        const double ours = median(ringrt.us), theirs = median(nccl.us);
        printf("| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f | %.3f |\n",
               bytes_text(bytes).c_str(), median(ringrt.host_us), median(nccl.host_us),
               median(ringrt.alone_us), median(nccl.alone_us), ours, theirs,
               double(bytes) / ours / 1000, double(bytes) / theirs / 1000, theirs / ours);
        fflush(stdout);
    }
    return bench.close();
}

// Ranks that share the GPU, without NCCL. Each call returns with its sum.
int measure_shared(const TemporaryDirectory &directory, int rank, int ranks, const char *route) {
    Bench bench;
    const std::vector<size_t> sizes{8, 64 << 10, 1 << 20, 16 << 20, 128 << 20};
    if (!bench.open(directory, rank, ranks, route, sizes.back())) return 1;
    for (const size_t bytes : sizes) {
        const int calls = bytes <= 1 << 20 ? 50 : 5;
        std::vector<double> each;
        for (int round = -1; round < kRounds; ++round) {
            if (ringrt_barrier(bench.rt) != RINGRT_OK) return 2;
            const double began = now_us();
            for (int i = 0; i < calls; ++i)
                if (!bench.by_ringrt(bytes / sizeof(float))) return 3;
            if (round >= 0) each.push_back((now_us() - began) / calls);
        }
        if (rank == 0)
            printf("| %s, %d ranks | %s | %.1f | %.2f |\n", route, ranks, bytes_text(bytes).c_str(),
                   median(each), double(bytes) / median(each) / 1000);
        fflush(stdout);
    }
    return bench.close();
}

// A step: a backward pass that produces kGradients one after the other, and the sums.
constexpr int kGradients = 12;
constexpr size_t kGradientFloats = 1 << 20, kWorkBytes = 256 << 20;

struct Step {
    Bench &bench;
    void *work = nullptr;  // memory whose filling is the computation
    int fills = 1;         // per gradient
    std::vector<float *> gradients{};

    bool compute() const {
        for (int i = 0; i < fills; ++i)
            if (cudaMemsetAsync(work, i, kWorkBytes, bench.stream) != cudaSuccess) return false;
        return true;
    }
    bool backward() const {
        for (int g = 0; g < kGradients; ++g)
            if (!compute()) return false;
        return true;
    }
    bool sums_by_nccl() const {
        if (ncclGroupStart() != ncclSuccess) return false;
        for (float *each : gradients)
            if (ncclAllReduce(each, each, kGradientFloats, ncclFloat, ncclSum, bench.nccl,
                              bench.stream) != ncclSuccess)
                return false;
        return ncclGroupEnd() == ncclSuccess;
    }
    bool planned() const {
        for (int g = kGradients - 1; g >= 0; --g)
            if (!compute() || ringrt_gradient_ready(bench.rt, g, gradients[size_t(g)]) != RINGRT_OK)
                return false;
        for (int g = 0; g < kGradients; ++g)
            if (ringrt_gradient_wait(bench.rt, g, nullptr) != RINGRT_OK) return false;
        return true;
    }
    bool time(const std::function<bool()> &step, std::vector<double> &out) const {
        if (ringrt_barrier(bench.rt) != RINGRT_OK) return false;
        const double began = now_us();
        if (!step() || !bench.synchronize()) return false;
        out.push_back((now_us() - began) / 1000);
        return true;
    }
};

int measure_overlap(const TemporaryDirectory &directory, int rank, int ranks) {
    Bench bench;
    if (!bench.open(directory, rank, ranks, "nccl", 1 << 20)) return 1;
    Step step{.bench = bench};
    if (cudaMalloc(&step.work, kWorkBytes) != cudaSuccess) return 2;
    for (int g = 0; g < kGradients; ++g) {
        float *made;
        int id = 0;
        if (cudaMalloc(reinterpret_cast<void **>(&made), kGradientFloats * 4) != cudaSuccess ||
            cudaMemset(made, 0, kGradientFloats * 4) != cudaSuccess ||
            ringrt_gradient_register(bench.rt, "g", kGradientFloats, RINGRT_FLOAT32, RINGRT_SUM,
                                     &id) != RINGRT_OK)
            return 3;
        step.gradients.push_back(made);
    }
    // A backward pass about as long as the sums, the same at all ranks.
    std::vector<double> sums, pass;
    for (int i = 0; i < 7; ++i) {
        if (!step.time([&] { return step.sums_by_nccl(); }, sums)) return 4;
        if (!step.time([&] { return step.backward(); }, pass)) return 4;
    }
    step.fills = std::max(1, int(median(sums) / median(pass)));
    if (ringrt_broadcast(&step.fills, &step.fills, sizeof step.fills, RINGRT_UINT8, 0, bench.rt) !=
        RINGRT_OK)
        return 5;
    const auto one_after_the_other = [&] { return step.backward() && step.sums_by_nccl(); };
    std::vector<double> apart, planned, backward;
    for (int i = -40; i < 3 * kRounds; ++i) {
        if (i == 0) apart.clear(), planned.clear(), backward.clear(), sums.clear();
        if (!step.time([&] { return step.planned(); }, planned)) return 6;
        if (i < 0) continue;
        if (!step.time(one_after_the_other, apart) ||
            !step.time([&] { return step.sums_by_nccl(); }, sums) ||
            !step.time([&] { return step.backward(); }, backward))
            return 7;
    }
    if (rank == 0) {
        const double hidden =
            (median(apart) - median(planned)) / std::min(median(sums), median(backward)) * 100;
        printf(
            "\n### A step of %d gradients of 4 MiB, %d ranks by NCCL\n\n"
            "| ms of | median |\n| --- | --- |\n"
            "| the backward pass alone | %.2f |\n| the sums alone, by NCCL directly | %.2f |\n"
            "| both, one after the other | %.2f |\n| both, by ringrt_gradient_ready() | %.2f |\n"
            "| hidden, of the shorter one | %.0f %% |\n",
            kGradients, ranks, median(backward), median(sums), median(apart), median(planned),
            hidden);
    }
    return bench.close();
}

// Runs the ranks, and says if one failed.
void section(const char *name, int ranks,
             const std::function<int(const TemporaryDirectory &, int)> &body) {
    TemporaryDirectory directory;
    const std::vector<int> ended =
        Ranks(ranks, [&](int rank) { return body(directory, rank); }).wait(150);
    for (size_t r = 0; r < ended.size(); ++r)
        if (ended[r] != 0) printf("\n%s: rank %zu failed with status %d\n", name, r, ended[r]);
}

void copy_bandwidth() {
    section("copies", 1, [](const TemporaryDirectory &, int) {
        constexpr size_t kBytes = size_t{4} << 30;
        void *a, *b;
        cudaEvent_t first, last;
        float ms = 0;
        cudaDeviceProp device;
        if (cudaMalloc(&a, kBytes) != cudaSuccess || cudaMalloc(&b, kBytes) != cudaSuccess ||
            cudaEventCreate(&first) != cudaSuccess || cudaEventCreate(&last) != cudaSuccess ||
            cudaGetDeviceProperties(&device, 0) != cudaSuccess)
            return 1;
        std::vector<double> each;
        for (int i = 0; i < kRounds; ++i) {
            if (cudaEventRecord(first) != cudaSuccess ||
                cudaMemcpyAsync(a, b, kBytes, cudaMemcpyDeviceToDevice) != cudaSuccess ||
                cudaEventRecord(last) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess ||
                cudaEventElapsedTime(&ms, first, last) != cudaSuccess)
                return 2;
            each.push_back(2 * double(kBytes) / double(ms) / 1e6);
        }
        printf("%s. A copy within its memory: %.0f GB/s, read and written.\n", device.name,
               median(each));
        return 0;
    });
}

void run_section(const std::string &name, size_t bytes, const std::string &directory) {
    if (name == "calls") {
        for (const int ranks : {1, 2})
            section("calls", ranks, [=](const TemporaryDirectory &meet, int rank) {
                return measure_calls(meet, rank, ranks);
            });
    } else if (name == "shared") {
        printf(
            "\n### Ranks that share the GPU\n\n| how | bytes | µs | GB/s |\n| --- | --- | --- | "
            "--- |\n");
        for (const char *route : {"ipc", "host"})
            for (const int ranks : {2, 4})
                section("shared", ranks, [=](const TemporaryDirectory &meet, int rank) {
                    return measure_shared(meet, rank, ranks, route);
                });
    } else if (name == "overlap") {
        section("overlap", 2, [](const TemporaryDirectory &meet, int rank) {
            return measure_overlap(meet, rank, 2);
        });
    } else if (name == "checkpoint") {
        measure_checkpoint(1, bytes, directory);
        measure_checkpoint(2, bytes, directory);
    } else if (name == "in-place") {
        measure_in_place(100'000'000);
    } else {
        fprintf(stderr, "measure_gpu: no section %s\n", name.c_str());
        exit(2);
    }
}

}  // namespace

std::string ringrt::test::bytes_text(size_t bytes) {
    const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
    return std::to_string(bytes) + " " + units[unit];
}

int main(int argc, char **argv) {
    std::vector<std::string> sections;
    size_t bytes = 10'000'000'000;
    std::string directory = "/dev/shm";
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--bytes" && i + 1 < argc)
            bytes = strtoull(argv[++i], nullptr, 10);
        else if (argument == "--directory" && i + 1 < argc)
            directory = argv[++i];
        else
            sections.push_back(argument);
    }
    if (sections.empty()) sections = {"calls", "shared", "overlap", "checkpoint", "in-place"};
    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (Ranks(1, [](int) { return gpus() > 0 ? 0 : 1; }).wait(60)[0] != 0) return kNoGpu;
    copy_bandwidth();
    for (const std::string &name : sections) run_section(name, bytes, directory);
    return 0;
}
