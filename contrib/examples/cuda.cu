// SPDX-License-Identifier: BSD-3-Clause
// A malleable training on GPUs: a linear model whose parameters, momentum and gradient never leave
// the GPU. NCCL's sums and the update run in one stream; the host waits for neither. Without a GPU
// it exits with 77.
//
//     nvcc -o cuda cuda.cu $(pkg-config --cflags --libs ringrt)
//     sbatch --malleable=1:4 --wrap "srun ./cuda"
#include <cuda_runtime.h>
#include <ringrt.h>

#include <cstdio>
#include <cstdlib>

constexpr int kFeatures = 64, kThreads = 128;
constexpr uint64_t kSteps = 2000;
constexpr float kRate = 0.05f, kMomentum = 0.9f;

// Feature k of a sample, between -1 and 1, in place of a data set.
__device__ float feature(uint64_t sample, int k) {
    uint64_t mix = (sample * kFeatures + uint64_t(k) + 1) * 0x9E3779B97F4A7C15u;
    mix = (mix ^ mix >> 29) * 0xBF58476D1CE4E5B9u;
    return float(mix >> 40) / float(1 << 23) - 1;
}
__device__ float truth(int k) { return float(k % 7) - 3; }

// One block per feature: its gradient over this rank's share, as a part of the whole batch's mean.
__global__ void gradient(const float *weights, uint64_t first, uint64_t count, uint64_t batch,
                         float *out) {
    __shared__ float sums[kThreads];
    float sum = 0;
    for (uint64_t i = threadIdx.x; i < count; i += kThreads) {
        float error = 0;
        for (int k = 0; k < kFeatures; ++k)
            error += (weights[k] - truth(k)) * feature(first + i, k);
        sum += error * feature(first + i, int(blockIdx.x));
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int t = 1; t < kThreads; ++t) sum += sums[t];
    out[blockIdx.x] = sum / float(batch);
}

__global__ void update(float *weights, float *momentum, const float *gradients) {
    const int k = int(threadIdx.x);
    momentum[k] = kMomentum * momentum[k] + gradients[k];
    weights[k] -= kRate * momentum[k];
}

static ringrt_t *rt = nullptr;

static void must(const char *call, ringrt_status_t status) {
    if (status == RINGRT_OK) return;
    fprintf(stderr, "%s: %s: %s\n", call, ringrt_status_string(status), ringrt_last_error(rt));
    exit(1);
}

static void must(const char *call, cudaError_t error) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

static float *zeros_on_gpu() {
    void *memory = nullptr;
    must("cudaMalloc", cudaMalloc(&memory, kFeatures * sizeof(float)));
    must("cudaMemset", cudaMemset(memory, 0, kFeatures * sizeof(float)));
    return static_cast<float *>(memory);
}

int main() {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        puts("no GPU");
        return 77;
    }
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.global_batch = 4096;
    config.steps_total = kSteps;
    must("ringrt_init", ringrt_init(&rt, &config));
    must("cudaSetDevice", cudaSetDevice(ringrt_local_rank(rt) % gpus));
    cudaStream_t stream;
    must("cudaStreamCreate", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float *weights = zeros_on_gpu(), *momentum = zeros_on_gpu(), *gradients = zeros_on_gpu();
    must("cudaDeviceSynchronize", cudaDeviceSynchronize());

    const uint64_t shape[] = {kFeatures};
    int id = -1;
    must("ringrt_set_stream", ringrt_set_stream(rt, stream));
    must("ringrt_register", ringrt_register(rt, "weights", weights, RINGRT_FLOAT32, 1, shape));
    must("ringrt_register", ringrt_register(rt, "momentum", momentum, RINGRT_FLOAT32, 1, shape));
    must("ringrt_gradient_register",
         ringrt_gradient_register(rt, "weights", kFeatures, RINGRT_FLOAT32, RINGRT_SUM, &id));

    uint64_t step = 0;
    if (ringrt_status_t restored = ringrt_restore(rt, &step); restored != RINGRT_NOT_FOUND)
        must("ringrt_restore", restored);
    ringrt_action_t action = RINGRT_CONTINUE;
    while (step < kSteps && action == RINGRT_CONTINUE) {
        ringrt_batch_t batch;
        must("ringrt_batch", ringrt_batch(rt, &batch));
        gradient<<<kFeatures, kThreads, 0, stream>>>(weights, batch.samples_seen + batch.first,
                                                     batch.count, batch.global, gradients);
        must("ringrt_gradient_ready", ringrt_gradient_ready(rt, id, gradients));
        must("ringrt_gradient_wait", ringrt_gradient_wait(rt, id, nullptr));  // the stream waits
        update<<<1, kFeatures, 0, stream>>>(weights, momentum, gradients);
        must("a kernel", cudaGetLastError());
        must("ringrt_step", ringrt_step(rt, ++step, &action));
    }
    if (action == RINGRT_CONTINUE && ringrt_rank(rt) == 0) {
        float first = 0;
        must("cudaStreamSynchronize", cudaStreamSynchronize(stream));
        must("cudaMemcpy", cudaMemcpy(&first, weights, sizeof first, cudaMemcpyDeviceToHost));
        printf("%llu steps on %d ranks: the first weight is %.3f, and should be -3\n",
               static_cast<unsigned long long>(step), ringrt_size(rt), double(first));
    }
    must("ringrt_finalize", ringrt_finalize(rt));
    return 0;
}
