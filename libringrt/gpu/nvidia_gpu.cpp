// SPDX-License-Identifier: BSD-3-Clause
// Gpu implemented with NVIDIA's driver. (NCCL: nccl.cpp)
#include "libringrt/gpu/nvidia_gpu.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "libringrt/gpu/reduce_ptx.h"

namespace ringrt {
namespace {

static_assert(sizeof(Gpu::Handle) == sizeof(CUipcMemHandle) &&
              sizeof(Gpu::Secret) == sizeof(ncclUniqueId) && sizeof(Gpu::Name) == sizeof(CUuuid));

struct Sources {  // as in reduce.cu
    const void *at[Gpu::kSourcesMax];
    int number;
};

CUdeviceptr device_pointer(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }

}  // namespace

Status NvidiaGpu::with_context(CUresult result, const char *what) const {
    if (result == CUDA_SUCCESS) return {};
    const char *text = nullptr;
    cuda_.cuGetErrorString(result, &text);
    return {result == CUDA_ERROR_OUT_OF_MEMORY ? RINGRT_NO_MEMORY : RINGRT_SYSTEM_ERROR,
            format_text("GPU %d: %s: %s", device_, what, text == nullptr ? "unknown error" : text)};
}

NvidiaGpu::~NvidiaGpu() {
    nccl_end(true);
    if (context_ == nullptr) return;
    {
        Here here(*this);
        for (CUevent each : pool_.free) cuda_.cuEventDestroy(each);
        if (kernels_ != nullptr) cuda_.cuModuleUnload(kernels_);
        if (stream_ != nullptr) cuda_.cuStreamDestroy(stream_);
    }
    cuda_.cuDevicePrimaryCtxRelease(device_);
}

// Memory that the driver does not know, or any memory before a context exists, counts as ordinary.
int NvidiaGpu::device_of(const void *memory) {
    Here here(*this);
    CUmemorytype type{};
    int device = -1;
    bool on_gpu = cuda_.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                              device_pointer(memory)) == CUDA_SUCCESS &&
                  type == CU_MEMORYTYPE_DEVICE &&
                  cuda_.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                              device_pointer(memory)) == CUDA_SUCCESS;
    return on_gpu ? device : -1;
}

int NvidiaGpu::current_device() {
    CUdevice device = -1;
    return cuda_.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

Status NvidiaGpu::open(int device) {
    if (device_ == device) return {};
    if (device_ >= 0) {
        return {RINGRT_INVALID_ARGUMENT,
                format_text("this buffer is on GPU %d, earlier ones were on GPU %d: one rank uses "
                            "one GPU",
                            device, device_)};
    }
    CUuuid uuid{};
    RINGRT_TRY(with_context(cuda_.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid"));
    memcpy(name_.data(), &uuid, sizeof uuid);
    CUcontext context = nullptr;
    RINGRT_TRY(
        with_context(cuda_.cuDevicePrimaryCtxRetain(&context, device), "its primary context"));
    context_ = context;
    Status made;
    {
        // High priority: gradients that are sent early let the next forward pass begin early.
        Here here(*this);
        int least = 0, greatest = 0;
        (void)cuda_.cuCtxGetStreamPriorityRange(&least, &greatest);
        made = with_context(
            cuda_.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, greatest),
            "cuStreamCreateWithPriority");
    }
    if (made.ok()) {
        device_ = device;
    } else {  // undo: work without a stream would go to the program's default stream
        context_ = nullptr;
        cuda_.cuDevicePrimaryCtxRelease(device);
    }
    return made;
}

Status NvidiaGpu::record(CUstream stream, const char *where, Event *out) {
    CUevent event = nullptr;
    {
        const std::scoped_lock lock(pool_.mutex);
        if (!pool_.free.empty()) {
            event = pool_.free.back();
            pool_.free.pop_back();
        }
    }
    if (event == nullptr)
        RINGRT_TRY(with_context(cuda_.cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate"));
    // A stream that waits for the event waits for this record of it, not for a later one.
    *out = Event(event, [this](void *made) {
        const std::scoped_lock lock(pool_.mutex);
        pool_.free.push_back(static_cast<CUevent>(made));
    });
    return with_context(cuda_.cuEventRecord(event, stream), where);
}

// A replayed graph would repeat the reduction without the other ranks.
Status NvidiaGpu::check_not_captured(void *stream) {
    Here here(*this);
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    RINGRT_TRY(with_context(cuda_.cuStreamIsCapturing(static_cast<CUstream>(stream), &capture),
                            "cuStreamIsCapturing"));
    if (capture == CU_STREAM_CAPTURE_STATUS_NONE) return {};
    return {RINGRT_UNSUPPORTED,
            format_text("GPU %d: the stream is captured into a CUDA graph: sum outside of it",
                        device_)};
}

Status NvidiaGpu::mark(void *stream, Event *out) {
    Here here(*this);
    RINGRT_TRY(check_not_captured(stream));
    return record(static_cast<CUstream>(stream),
                  "cuEventRecord in the stream given to ringrt_set_stream()", out);
}

Status NvidiaGpu::mark_own(Event *out) {
    Here here(*this);
    return record(stream_, "cuEventRecord", out);
}

Status NvidiaGpu::make_stream_wait(void *stream, const Event &event) {
    Here here(*this);
    return with_context(cuda_.cuStreamWaitEvent(static_cast<CUstream>(stream),
                                                static_cast<CUevent>(event.get()), 0),
                        "cuStreamWaitEvent in the stream given to ringrt_set_stream()");
}

Status NvidiaGpu::passed(const Event &event, bool *out) {
    Here here(*this);
    const CUresult result = cuda_.cuEventQuery(static_cast<CUevent>(event.get()));
    *out = result == CUDA_SUCCESS;
    return result == CUDA_ERROR_NOT_READY ? Status{}
                                          : with_context(result, "an operation on it failed");
}

Status NvidiaGpu::between(const Event &from, const Event &to, double *us) {
    Here here(*this);
    float ms = 0;
    RINGRT_TRY(with_context(cuda_.cuEventElapsedTime(&ms, static_cast<CUevent>(from.get()),
                                                     static_cast<CUevent>(to.get())),
                            "cuEventElapsedTime"));
    *us = 1000.0 * static_cast<double>(ms);
    return {};
}

Status NvidiaGpu::after(const Event &event) {
    Here here(*this);
    return with_context(cuda_.cuStreamWaitEvent(stream_, static_cast<CUevent>(event.get()), 0),
                        "cuStreamWaitEvent");
}

Status NvidiaGpu::start_copy(void *out, const void *in, size_t bytes) {
    if (bytes == 0 || out == in) return {};
    Here here(*this);
    return with_context(
        cuda_.cuMemcpyAsync(device_pointer(out), device_pointer(in), bytes, stream_),
        "cuMemcpyAsync");
}

bool NvidiaGpu::can_reduce() {
    if (can_reduce_ == Unknown) {
        Here here(*this);
        bool loaded = sizeof kReducePtx > 100 &&  // otherwise nvcc was not found
                      cuda_.cuModuleLoadData(&kernels_, kReducePtx) == CUDA_SUCCESS;
        can_reduce_ = loaded ? There : Missing;
    }
    return can_reduce_ == There;
}

Status NvidiaGpu::start_reduce(std::span<const void *const> sources, void *out, size_t count,
                               ringrt_dtype_t dtype, ringrt_op_t op) {
    constexpr size_t kThreads = 256, kBlocksMax = 2048;
    if (count == 0) return {};
    Here here(*this);
    std::string name = format_text("reduce_%d_%d", int(dtype), int(op));
    CUfunction kernel = nullptr;
    RINGRT_TRY(
        with_context(cuda_.cuModuleGetFunction(&kernel, kernels_, name.c_str()), name.c_str()));
    Sources given{.at = {}, .number = int(std::min(sources.size(), kSourcesMax))};
    std::copy_n(sources.begin(), given.number, given.at);
    unsigned long long number = count;
    void *arguments[] = {&given, &out, &number};
    auto blocks = unsigned(std::min((count + kThreads - 1) / kThreads, kBlocksMax));
    return with_context(
        cuda_.cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream_, arguments, nullptr),
        name.c_str());
}

Status NvidiaGpu::look(State *out) {
    Here here(*this);
    *out = State::Running;
    bool all_entered = false;
    RINGRT_TRY(entered(&all_entered));
    if (!all_entered) return {};
    CUresult result = cuda_.cuStreamQuery(stream_);
    if (result == CUDA_ERROR_NOT_READY) return {};
    *out = State::Over;
    return with_context(result, "an operation on it failed");
}

Status NvidiaGpu::alloc(size_t bytes, bool host, void **out) {
    Here here(*this);
    if (host) return with_context(cuda_.cuMemHostAlloc(out, bytes, 0), "cuMemHostAlloc");
    CUdeviceptr made = 0;
    RINGRT_TRY(with_context(cuda_.cuMemAlloc(&made, bytes), "cuMemAlloc"));
    *out = reinterpret_cast<void *>(made);
    return {};
}

void NvidiaGpu::free(void *memory, bool host) {
    if (memory == nullptr) return;
    Here here(*this);
    host ? cuda_.cuMemFreeHost(memory) : cuda_.cuMemFree(device_pointer(memory));
}

Status NvidiaGpu::available(size_t *bytes) {
    Here here(*this);
    size_t total = 0;
    return with_context(cuda_.cuMemGetInfo(bytes, &total), "cuMemGetInfo");
}

Status NvidiaGpu::share(void *memory, Handle *out) {
    Here here(*this);
    CUipcMemHandle handle{};
    RINGRT_TRY(with_context(cuda_.cuIpcGetMemHandle(&handle, device_pointer(memory)),
                            "cuIpcGetMemHandle"));
    memcpy(out->data(), &handle, sizeof handle);
    return {};
}

Status NvidiaGpu::open_shared(const Handle &handle, void **out) {
    Here here(*this);
    CUipcMemHandle theirs{};
    memcpy(&theirs, handle.data(), sizeof theirs);
    CUdeviceptr mapped = 0;
    RINGRT_TRY(
        with_context(cuda_.cuIpcOpenMemHandle(&mapped, theirs, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                     "cuIpcOpenMemHandle"));
    *out = reinterpret_cast<void *>(mapped);
    return {};
}

void NvidiaGpu::close_shared(void *memory) {
    Here here(*this);
    if (memory != nullptr) cuda_.cuIpcCloseMemHandle(device_pointer(memory));
}

std::unique_ptr<Gpu> find_gpu() {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CudaFunctions cuda;
    if (driver == nullptr || cuda.find(driver) != nullptr) return nullptr;
    return std::make_unique<NvidiaGpu>(cuda);
}

}  // namespace ringrt
