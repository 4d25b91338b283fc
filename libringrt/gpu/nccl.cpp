// SPDX-License-Identifier: BSD-3-Clause
// Gpu behind NVIDIA's driver and NCCL (NCCL user guide, "Fault tolerance": non-blocking
// communicators, whose errors come asynchronously and which any thread may abort).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "libringrt/gpu/gpu.h"
#include "libringrt/gpu/gpu_functions.h"
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

ncclDataType_t nccl_type(ringrt_dtype_t dtype) {
    switch (dtype) {
        case RINGRT_FLOAT32:
            return ncclFloat32;
        case RINGRT_FLOAT64:
            return ncclFloat64;
        case RINGRT_FLOAT16:
            return ncclFloat16;
        case RINGRT_BFLOAT16:
            return ncclBfloat16;
        case RINGRT_INT32:
            return ncclInt32;
        case RINGRT_INT64:
            return ncclInt64;
        case RINGRT_UINT8:
            break;
    }
    return ncclUint8;
}

ncclRedOp_t nccl_op(ringrt_op_t op) {
    switch (op) {
        case RINGRT_AVG:
            return ncclAvg;
        case RINGRT_MIN:
            return ncclMin;
        case RINGRT_MAX:
            return ncclMax;
        case RINGRT_PROD:
            return ncclProd;
        case RINGRT_SUM:
            break;
    }
    return ncclSum;
}

class NvidiaGpu : public Gpu {
  public:
    explicit NvidiaGpu(const CudaFunctions &cuda) : cuda_(cuda) {}
    ~NvidiaGpu() override;
    int device_of(const void *memory) override;
    Status open(int device) override;
    Name name() const override { return name_; }
    Status mark(void *stream, Event *out) override;
    Status after(const Event &event) override;
    Status start_copy(void *out, const void *in, size_t bytes) override;
    bool can_reduce() override;
    Status start_reduce(std::span<const void *const> sources, void *out, size_t count,
                        ringrt_dtype_t dtype, ringrt_op_t op) override;
    Status look(State *out) override;
    Status alloc(size_t bytes, bool host, void **out) override;
    void free(void *memory, bool host) override;
    Status share(void *memory, Handle *out) override;
    Status open_shared(const Handle &handle, void **out) override;
    void close_shared(void *memory) override;
    bool has_nccl() override;
    Status nccl_unique_id(Secret *out) override;
    Status nccl_start(const Secret &secret, int rank, int ranks) override;
    Status nccl_allreduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                          ringrt_op_t op) override;
    Status nccl_reduce_scatter(const void *send, void *recv, size_t each, ringrt_dtype_t dtype,
                               ringrt_op_t op) override;
    Status nccl_all_gather(const void *send, void *recv, size_t each,
                           ringrt_dtype_t dtype) override;
    void nccl_end(bool failed) override;

  private:
    // The GPU's context is this thread's while it lives.
    class Here {
      public:
        explicit Here(const NvidiaGpu &gpu) : gpu_(gpu) {
            const CUcontext context = gpu.context_;
            pushed_ = context != nullptr && gpu.cuda_.cuCtxPushCurrent(context) == CUDA_SUCCESS;
        }
        ~Here() {
            CUcontext ignored;
            if (pushed_) gpu_.cuda_.cuCtxPopCurrent(&ignored);
        }
        Here(const Here &) = delete;
        Here &operator=(const Here &) = delete;

      private:
        const NvidiaGpu &gpu_;
        bool pushed_ = false;
    };
    Status said(CUresult result, const char *what) const;
    Status said(ncclResult_t result, const char *what) const;

    CudaFunctions cuda_;
    NcclFunctions nccl_;
    enum { Unknown, There, Missing } has_nccl_ = Unknown, can_reduce_ = Unknown;
    int device_ = -1;
    Name name_{};
    std::atomic<CUcontext> context_ = nullptr;  // device_of() reads it on any thread
    CUstream stream_ = nullptr;
    CUmodule kernels_ = nullptr;
    ncclComm_t ring_ = nullptr;
};

Status NvidiaGpu::said(CUresult result, const char *what) const {
    if (result == CUDA_SUCCESS) return {};
    const char *text = nullptr;
    cuda_.cuGetErrorString(result, &text);
    return {result == CUDA_ERROR_OUT_OF_MEMORY ? RINGRT_NO_MEMORY : RINGRT_SYSTEM_ERROR,
            format_text("GPU %d: %s: %s", device_, what, text == nullptr ? "unknown error" : text)};
}

Status NvidiaGpu::said(ncclResult_t result, const char *what) const {
    if (result == ncclSuccess || result == ncclInProgress) return {};
    return {result == ncclRemoteError ? RINGRT_PEER_LOST : RINGRT_SYSTEM_ERROR,
            format_text("NCCL on GPU %d: %s: %s (NCCL_DEBUG=WARN says more)", device_, what,
                        nccl_.ncclGetErrorString(result))};
}

NvidiaGpu::~NvidiaGpu() {
    nccl_end(true);
    if (context_ == nullptr) return;
    {
        Here here(*this);
        if (kernels_ != nullptr) cuda_.cuModuleUnload(kernels_);
        if (stream_ != nullptr) cuda_.cuStreamDestroy(stream_);
    }
    cuda_.cuDevicePrimaryCtxRelease(device_);
}

// Whatever the driver does not know, or knows before anybody has made a context, is ordinary
// memory.
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

Status NvidiaGpu::open(int device) {
    if (device_ == device) return {};
    if (device_ >= 0) {
        return {RINGRT_INVALID_ARGUMENT,
                format_text("this buffer is on GPU %d, earlier ones were on GPU %d: one rank uses "
                            "one GPU",
                            device, device_)};
    }
    CUuuid uuid{};
    RINGRT_TRY(said(cuda_.cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid"));
    memcpy(name_.data(), &uuid, sizeof uuid);
    CUcontext context = nullptr;
    RINGRT_TRY(said(cuda_.cuDevicePrimaryCtxRetain(&context, device), "its primary context"));
    context_ = context;
    Status made;
    {
        Here here(*this);
        made = said(cuda_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }
    if (made.ok()) {
        device_ = device;
    } else {  // as before the call: work without a stream would go to the program's default stream
        context_ = nullptr;
        cuda_.cuDevicePrimaryCtxRelease(device);
    }
    return made;
}

Status NvidiaGpu::mark(void *stream, Event *out) {
    Here here(*this);
    CUevent event = nullptr;
    RINGRT_TRY(said(cuda_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
    *out = Event(event, [this](void *made) {
        Here where(*this);
        cuda_.cuEventDestroy(static_cast<CUevent>(made));
    });
    return said(cuda_.cuEventRecord(event, static_cast<CUstream>(stream)),
                "cuEventRecord in the stream given to ringrt_set_stream()");
}

Status NvidiaGpu::after(const Event &event) {
    Here here(*this);
    return said(cuda_.cuStreamWaitEvent(stream_, static_cast<CUevent>(event.get()), 0),
                "cuStreamWaitEvent");
}

Status NvidiaGpu::start_copy(void *out, const void *in, size_t bytes) {
    if (bytes == 0 || out == in) return {};
    Here here(*this);
    return said(cuda_.cuMemcpyAsync(device_pointer(out), device_pointer(in), bytes, stream_),
                "cuMemcpyAsync");
}

bool NvidiaGpu::can_reduce() {
    if (can_reduce_ == Unknown) {
        Here here(*this);
        bool loaded = sizeof kReducePtx > 100 &&  // else nvcc was not found
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
    RINGRT_TRY(said(cuda_.cuModuleGetFunction(&kernel, kernels_, name.c_str()), name.c_str()));
    Sources given{.at = {}, .number = int(std::min(sources.size(), kSourcesMax))};
    std::copy_n(sources.begin(), given.number, given.at);
    unsigned long long number = count;
    void *arguments[] = {&given, &out, &number};
    auto blocks = unsigned(std::min((count + kThreads - 1) / kThreads, kBlocksMax));
    return said(
        cuda_.cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream_, arguments, nullptr),
        name.c_str());
}

Status NvidiaGpu::look(State *out) {
    Here here(*this);
    *out = State::Running;
    if (ring_ != nullptr) {
        ncclResult_t result = ncclSuccess;
        RINGRT_TRY(said(nccl_.ncclCommGetAsyncError(ring_, &result), "ncclCommGetAsyncError"));
        if (result == ncclInProgress) return {};
        RINGRT_TRY(said(result, "asynchronous error"));
    }
    CUresult result = cuda_.cuStreamQuery(stream_);
    if (result == CUDA_ERROR_NOT_READY) return {};
    *out = State::Over;
    return said(result, "what ran on it failed");
}

Status NvidiaGpu::alloc(size_t bytes, bool host, void **out) {
    Here here(*this);
    if (host) return said(cuda_.cuMemHostAlloc(out, bytes, 0), "cuMemHostAlloc");
    CUdeviceptr made = 0;
    RINGRT_TRY(said(cuda_.cuMemAlloc(&made, bytes), "cuMemAlloc"));
    *out = reinterpret_cast<void *>(made);
    return {};
}

void NvidiaGpu::free(void *memory, bool host) {
    if (memory == nullptr) return;
    Here here(*this);
    host ? cuda_.cuMemFreeHost(memory) : cuda_.cuMemFree(device_pointer(memory));
}

Status NvidiaGpu::share(void *memory, Handle *out) {
    Here here(*this);
    CUipcMemHandle handle{};
    RINGRT_TRY(said(cuda_.cuIpcGetMemHandle(&handle, device_pointer(memory)), "cuIpcGetMemHandle"));
    memcpy(out->data(), &handle, sizeof handle);
    return {};
}

Status NvidiaGpu::open_shared(const Handle &handle, void **out) {
    Here here(*this);
    CUipcMemHandle theirs{};
    memcpy(&theirs, handle.data(), sizeof theirs);
    CUdeviceptr mapped = 0;
    RINGRT_TRY(said(cuda_.cuIpcOpenMemHandle(&mapped, theirs, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                    "cuIpcOpenMemHandle"));
    *out = reinterpret_cast<void *>(mapped);
    return {};
}

void NvidiaGpu::close_shared(void *memory) {
    Here here(*this);
    if (memory != nullptr) cuda_.cuIpcCloseMemHandle(device_pointer(memory));
}

// The program's own copy, where it has loaded one, has the same name.
bool NvidiaGpu::has_nccl() {
    if (has_nccl_ == Unknown) {
        void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
        has_nccl_ = library != nullptr && nccl_.find(library) == nullptr ? There : Missing;
    }
    return has_nccl_ == There;
}

Status NvidiaGpu::nccl_unique_id(Secret *out) {
    Here here(*this);
    ncclUniqueId id{};
    RINGRT_TRY(said(nccl_.ncclGetUniqueId(&id), "ncclGetUniqueId"));
    memcpy(out->data(), &id, sizeof id);
    return {};
}

Status NvidiaGpu::nccl_start(const Secret &secret, int rank, int ranks) {
    Here here(*this);
    ncclUniqueId id{};
    memcpy(&id, secret.data(), sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return said(nccl_.ncclCommInitRankConfig(&ring_, ranks, id, rank, &config),
                "ncclCommInitRankConfig");
}

Status NvidiaGpu::nccl_allreduce(const void *send, void *recv, size_t count, ringrt_dtype_t dtype,
                                 ringrt_op_t op) {
    Here here(*this);
    return said(
        nccl_.ncclAllReduce(send, recv, count, nccl_type(dtype), nccl_op(op), ring_, stream_),
        "ncclAllReduce");
}

Status NvidiaGpu::nccl_reduce_scatter(const void *send, void *recv, size_t each,
                                      ringrt_dtype_t dtype, ringrt_op_t op) {
    Here here(*this);
    return said(
        nccl_.ncclReduceScatter(send, recv, each, nccl_type(dtype), nccl_op(op), ring_, stream_),
        "ncclReduceScatter");
}

Status NvidiaGpu::nccl_all_gather(const void *send, void *recv, size_t each, ringrt_dtype_t dtype) {
    Here here(*this);
    return said(nccl_.ncclAllGather(send, recv, each, nccl_type(dtype), ring_, stream_),
                "ncclAllGather");
}

void NvidiaGpu::nccl_end(bool failed) {
    constexpr auto kGoodbye = std::chrono::seconds(5);  // the others have come to the end as well
    if (ring_ == nullptr) return;
    Here here(*this);
    ncclResult_t result = failed ? ncclRemoteError : nccl_.ncclCommFinalize(ring_);
    auto until = std::chrono::steady_clock::now() + kGoodbye;
    while (result == ncclInProgress && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (nccl_.ncclCommGetAsyncError(ring_, &result) != ncclSuccess) result = ncclRemoteError;
    }
    result == ncclSuccess ? nccl_.ncclCommDestroy(ring_) : nccl_.ncclCommAbort(ring_);
    ring_ = nullptr;
}

}  // namespace

std::unique_ptr<Gpu> find_gpu() {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CudaFunctions cuda;
    if (driver == nullptr || cuda.find(driver) != nullptr) return nullptr;
    return std::make_unique<NvidiaGpu>(cuda);
}

}  // namespace ringrt
