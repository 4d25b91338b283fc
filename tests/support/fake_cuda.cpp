// SPDX-License-Identifier: BSD-3-Clause
// A libcuda.so.1 for machines without a GPU. The host cannot touch its device memory, as on real
// hardware: code that treats it as host memory dies by SIGSEGV. With FAKE_CUDA_DRIVER it has every
// function that libringrt looks up. Otherwise it has only the one that reports where a pointer
// lies.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace {

constexpr size_t kBytes = 1 << 20;
void *memory = nullptr;
int streams_to_refuse = 0;
int contexts = 0;
int captured = 0;  // a stream
int current = -1;  // the program's GPU

}  // namespace

extern "C" {

// ---- for the tests ----------------------------------------------------------------------------

void *fake_cuda_memory() {
    if (memory == nullptr)
        memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory;
}
void fake_cuda_refuse_streams(int number) { streams_to_refuse = number; }
void *fake_cuda_captured_stream() { return &captured; }
void fake_cuda_set_device(int device) { current = device; }
int fake_cuda_contexts() { return contexts; }  // retained and not released

// ---- the driver's functions -------------------------------------------------------------------

int cuPointerGetAttribute(void *data, int attribute, uintptr_t pointer) {
    const auto start = reinterpret_cast<uintptr_t>(memory);
    if (memory == nullptr || pointer < start || pointer >= start + kBytes) return 1;
    if (attribute == 2)  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE: CU_MEMORYTYPE_DEVICE
        *static_cast<unsigned *>(data) = 2;
    else
        *static_cast<int *>(data) = 0;  // not managed; of GPU 0
    return 0;
}

#ifdef FAKE_CUDA_DRIVER

int cuGetErrorString(int, const char **out) {
    *out = "as the test wants";
    return 0;
}
int cuDevicePrimaryCtxRetain(void **out, int) {
    *out = &contexts;
    ++contexts;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
    --contexts;
    return 0;
}
int cuCtxGetDevice(int *device) {
    if (current < 0) return 201;  // CUDA_ERROR_INVALID_CONTEXT
    *device = current;
    return 0;
}
int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0, *greatest = -5;
    return 0;
}
int cuStreamCreateWithPriority(void **out, unsigned, int priority) {
    if (priority != -5) return 1;
    if (streams_to_refuse-- > 0) return 2;
    *out = &streams_to_refuse;
    return 0;
}
int cuStreamIsCapturing(void *stream, int *out) {
    *out = stream == &captured;
    return 0;
}
int cuEventElapsedTime_v2(float *ms, void *, void *) {
    *ms = 1.5F;
    return 0;
}
// For headers before CUDA 12.8.
int cuEventElapsedTime(float *ms, void *from, void *to) {
    return cuEventElapsedTime_v2(ms, from, to);
}
// A null stream is the program's default stream, which the library must not use.
int cuStreamWaitEvent(void *stream, void *, unsigned) { return stream == nullptr ? 1 : 0; }

#define DOES_NOTHING(name) \
    int name(void) { return 0; }
DOES_NOTHING(cuThreadExchangeStreamCaptureMode)
DOES_NOTHING(cuDeviceGetUuid)
DOES_NOTHING(cuDeviceGetUuid_v2)
DOES_NOTHING(cuCtxPushCurrent_v2)
DOES_NOTHING(cuCtxPopCurrent_v2)
DOES_NOTHING(cuStreamDestroy_v2)
DOES_NOTHING(cuStreamQuery)
DOES_NOTHING(cuEventQuery)
DOES_NOTHING(cuEventCreate)
DOES_NOTHING(cuEventDestroy_v2)
DOES_NOTHING(cuEventRecord)
DOES_NOTHING(cuMemAlloc_v2)
DOES_NOTHING(cuMemGetInfo_v2)
DOES_NOTHING(cuMemFree_v2)
DOES_NOTHING(cuMemHostAlloc)
DOES_NOTHING(cuMemFreeHost)
DOES_NOTHING(cuMemcpyAsync)
DOES_NOTHING(cuIpcGetMemHandle)
DOES_NOTHING(cuIpcOpenMemHandle_v2)
DOES_NOTHING(cuIpcCloseMemHandle)
DOES_NOTHING(cuModuleLoadData)
DOES_NOTHING(cuModuleGetFunction)
DOES_NOTHING(cuModuleUnload)
DOES_NOTHING(cuLaunchKernel)

#endif

}  // extern "C"
