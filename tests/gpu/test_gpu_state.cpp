// SPDX-License-Identifier: BSD-3-Clause
// State in the memory of a real GPU: checkpoints of it, and ranks that join and leave in place with
// it.
#include <signal.h>

#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "tests/gpu/gpu_tests.h"
#include "tests/support/live_job.h"

using namespace ringrt::test;

namespace {

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

// Saved at `saved` ranks and loaded at `loaded`, on one GPU.
void save_and_load(Tap &tap, const char *name, int saved, int loaded, bool to_gpu) {
    TemporaryDirectory directory;
    std::vector<int> codes = Ranks(saved, [&](int rank) {
                                 return checkpointed(directory, rank, saved, true, true);
                             }).wait(120);
    const std::vector<int> then = Ranks(loaded, [&](int rank) {
                                      return checkpointed(directory, rank, loaded, false, to_gpu);
                                  }).wait(120);
    codes.insert(codes.end(), then.begin(), then.end());
    tap.report(name, codes);
}

// ---- in place
// ---------------------------------------------------------------------------------------

// The program's vectors on the GPU, and the stream in which it writes them.
struct OnGpu {
    cudaStream_t stream = nullptr;
    std::map<const void *, float *> at;
};

OnGpu &on_gpu() {
    static OnGpu here;  // of this rank's process
    return here;
}

// Every step writes the state in the stream, and does not wait for it.
void keep_on_gpu(LiveTraining &training) {
    training.registered = [](int, ringrt_t *rt, std::vector<float> &vector) -> void * {
        OnGpu &gpu = on_gpu();
        float *made = nullptr;
        if (gpu.stream == nullptr &&
            cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking) != cudaSuccess)
            abort();
        const size_t bytes = vector.size() * sizeof(float);
        if (cudaMalloc(reinterpret_cast<void **>(&made), bytes) != cudaSuccess ||
            cudaMemcpy(made, vector.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
            ringrt_set_stream(rt, gpu.stream) != RINGRT_OK)
            abort();
        return gpu.at[&vector] = made;
    };
    training.push = [](std::vector<float> &vector) {
        if (cudaMemcpyAsync(on_gpu().at[&vector], vector.data(), vector.size() * sizeof(float),
                            cudaMemcpyHostToDevice, on_gpu().stream) != cudaSuccess)
            abort();
    };
    training.pull = [](std::vector<float> &vector) {
        if (cudaStreamSynchronize(on_gpu().stream) != cudaSuccess ||
            cudaMemcpy(vector.data(), on_gpu().at[&vector], vector.size() * sizeof(float),
                       cudaMemcpyDeviceToHost) != cudaSuccess)
            abort();
    };
}

// CUDA may start only in a child.
bool has_gpu() {
    return Ranks(1, [](int) { return gpus() > 0 ? 0 : 1; }).wait(60)[0] == 0;
}

bool has_trained(LiveTraining &training, int ranks) {
    const uint64_t steps = training.stop();
    const std::vector<int> ended = training.job(0).wait(60);
    const std::vector<float> right = trained_alone(training.floats, steps, training.exact);
    for (int rank = 0; rank < ranks; ++rank) {
        if (ended[size_t(rank)] != kTrained || training.weights(0, rank) != right) return false;
    }
    return true;
}

// Two gradients on the GPU, which the stream has yet to write when they are ready.
void sum_on_gpu(LiveTraining &training, const char *route) {
    setenv("RINGRT_GPU", route, 1);
    training.prepare = [&training](int, ringrt_t *rt) {
        let_nccl_share(getpid());
        int id = -1;
        for (const size_t count : {size_t(7), training.floats - 7})
            if (ringrt_gradient_register(rt, std::to_string(count).c_str(), count, RINGRT_FLOAT32,
                                         RINGRT_SUM, &id) != RINGRT_OK)
                abort();
    };
    training.reduce = [](ringrt_t *rt, std::vector<float> &g, uint64_t) {
        static float *there = nullptr;
        const size_t bytes = g.size() * sizeof(float);
        cudaStream_t stream = on_gpu().stream;
        if ((there == nullptr &&
             cudaMalloc(reinterpret_cast<void **>(&there), bytes) != cudaSuccess) ||
            cudaMemcpyAsync(there, g.data(), bytes, cudaMemcpyHostToDevice, stream) != cudaSuccess)
            abort();
        ringrt_status_t status = ringrt_gradient_ready(rt, 1, there + 7);
        if (status == RINGRT_OK) status = ringrt_gradient_ready(rt, 0, there);
        for (int id = 0; id < 2 && status == RINGRT_OK; ++id)
            status = ringrt_gradient_wait(rt, id, nullptr);
        if (status == RINGRT_OK && (cudaMemcpyAsync(g.data(), there, bytes, cudaMemcpyDeviceToHost,
                                                    stream) != cudaSuccess ||
                                    cudaStreamSynchronize(stream) != cudaSuccess))
            abort();
        return status;
    };
}

// Two ranks, four, two, several times: the weights are those of one rank that trained alone.
int resizes(int times, const char *gradients_by = nullptr) {
    if (!has_gpu()) return kNoGpu;
    LiveTraining training;
    training.floats = 100003;
    training.pause_us = 0;
    keep_on_gpu(training);
    if (gradients_by != nullptr) sum_on_gpu(training, gradients_by);
    training.start(0, 2);
    if (!training.await_size(2)) return 1;
    for (int i = 1; i <= times; ++i) {
        training.start(i, 2);
        if (!training.await_size(4)) return 2;
        training.job(i).signal(0, SIGURG);
        for (int status : training.job(i).wait(60))
            if (status != kHasLeft) return 3;
        if (!training.await_size(2)) return 4;
    }
    if (!has_trained(training, 2)) return 5;
    return training.recoveries() == 0 ? int(kGood) : 6;
}

int loses_an_extension(const char *gradients_by = nullptr) {
    if (!has_gpu()) return kNoGpu;
    LiveTraining training;
    training.floats = 100003;
    keep_on_gpu(training);
    if (gradients_by != nullptr) sum_on_gpu(training, gradients_by);
    training.start(0, 2);
    if (!training.await_size(2)) return 1;
    training.start(1, 2);
    if (!training.await_size(4)) return 2;
    kill(training.job(1).pid(1), SIGKILL);
    usleep(20000);
    training.forget(1);
    if (!training.await_size(2)) return 3;
    return has_trained(training, 2) ? int(kGood) : 4;
}

// Whether NCCL has started for so many ranks in this process, by the log that NCCL writes.
bool has_nccl_started(const std::string &directory, int ranks) {
    std::ifstream log(directory + "/nccl." + std::to_string(getpid()));
    const std::string wanted = "nranks " + std::to_string(ranks) + " ";
    for (std::string line; std::getline(log, line);)
        if (line.find(wanted) != std::string::npos &&
            line.find("Init COMPLETE") != std::string::npos)
            return true;
    return false;
}

// Also with state in host memory, where the joining ranks' GPU is the current one.
int finds_nccl_started(bool state_on_gpu) {
    if (!has_gpu()) return kNoGpu;
    TemporaryDirectory logs;
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT", 1);
    setenv("NCCL_DEBUG_FILE", (logs.path + "/nccl.%p").c_str(), 1);
    LiveTraining training;
    training.floats = 100003;
    if (state_on_gpu) keep_on_gpu(training);
    sum_on_gpu(training, "nccl");
    const auto prepare = training.prepare;
    training.prepare = [=](int job, ringrt_t *rt) {
        if (cudaFree(nullptr) != cudaSuccess) abort();  // makes it current
        prepare(job, rt);
    };
    const auto sum = training.reduce;
    training.reduce = [&logs, sum](ringrt_t *rt, std::vector<float> &g, uint64_t step) {
        static bool looked = false;
        const bool first = ringrt_size(rt) == 4 && !std::exchange(looked, true);
        if (first && !has_nccl_started(logs.path, 4)) return RINGRT_UNSUPPORTED;
        return sum(rt, g, step);
    };
    training.start(0, 2);
    if (!training.await_size(2)) return 1;
    training.start(1, 2);
    if (!training.await_size(4)) return 2;
    training.job(1).signal(0, SIGURG);
    for (int status : training.job(1).wait(60))
        if (status != kHasLeft) return 3;
    for (const char *name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) unsetenv(name);
    return has_trained(training, 2) ? int(kGood) : 4;
}

}  // namespace

int main() {
    Tap tap(10);
    save_and_load(tap, "a checkpoint of two ranks' buffers on a GPU, loaded by three", 2, 3, true);
    save_and_load(tap, "the same, loaded to the host's memory", 2, 1, false);
    tap.report("ranks join and leave in place, four times", {resizes(4)});
    tap.report("an extension's rank is killed: the base continues", {loses_an_extension()});
    tap.report("the same, with gradients on the GPU, by NCCL", {resizes(2, "nccl")});
    tap.report("by the fastest way of ranks that share a GPU", {resizes(2, "auto")});
    tap.report("an extension's rank is killed, with gradients by NCCL",
               {loses_an_extension("nccl")});
    tap.report("the same, by the fastest way", {loses_an_extension("auto")});
    tap.report("NCCL has started before the first sum with joined ranks",
               {finds_nccl_started(true)});
    tap.report("the same, with state in host memory", {finds_nccl_started(false)});
    return tap.status();
}
