// SPDX-License-Identifier: BSD-3-Clause
// The functions of NVIDIA's driver and of NCCL that nvidia_gpu.cpp and nccl.cpp call, looked up at
// run time. The driver keeps old names, and NCCL keeps its interface within a major version, so a
// build with one version runs with others. The CUDA runtime is not used: its library's name changes
// with every version, and programs often bundle their own.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <nccl.h>

namespace ringrt {

// The headers' macros add the versions to the names (cuMemAlloc_v2); RINGRT_TEXT includes them.
// clang-format off
#define RINGRT_CUDA_FUNCTIONS(X)                                                              \
    X(cuGetErrorString) X(cuPointerGetAttribute) X(cuDeviceGetUuid)                           \
    X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxPushCurrent)              \
    X(cuCtxPopCurrent) X(cuCtxGetStreamPriorityRange) X(cuStreamCreateWithPriority)           \
    X(cuStreamDestroy) X(cuStreamQuery) X(cuStreamIsCapturing) X(cuStreamWaitEvent)           \
    X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventQuery)                       \
    X(cuEventElapsedTime) X(cuMemAlloc) X(cuMemFree) X(cuMemHostAlloc) X(cuMemFreeHost)       \
    X(cuMemcpyAsync) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(cuIpcCloseMemHandle)        \
    X(cuModuleLoadData) X(cuModuleGetFunction) X(cuModuleUnload) X(cuLaunchKernel)            \
    X(cuThreadExchangeStreamCaptureMode) X(cuMemGetInfo) X(cuCtxGetDevice)
#define RINGRT_NCCL_FUNCTIONS(X)                                                              \
    X(ncclGetErrorString) X(ncclGetUniqueId) X(ncclCommInitRankConfig) X(ncclCommSplit)       \
    X(ncclCommGetAsyncError) X(ncclCommFinalize) X(ncclCommDestroy) X(ncclCommAbort)          \
    X(ncclGroupStart) X(ncclGroupEnd) X(ncclAllReduce) X(ncclReduceScatter) X(ncclAllGather)
// clang-format on

#define RINGRT_TEXT_OF(name) #name
#define RINGRT_TEXT(name) RINGRT_TEXT_OF(name)
#define RINGRT_FIELD(name) decltype(&::name) name = nullptr;
#define RINGRT_FIND(name)                                                       \
    name = reinterpret_cast<decltype(name)>(dlsym(library, RINGRT_TEXT(name))); \
    if (name == nullptr) return RINGRT_TEXT(name);

struct CudaFunctions {
    RINGRT_CUDA_FUNCTIONS(RINGRT_FIELD)
    // Returns the name of a missing function; null if all are found.
    const char *find(void *library) {
        RINGRT_CUDA_FUNCTIONS(RINGRT_FIND)
        return nullptr;
    }
};

struct NcclFunctions {
    RINGRT_NCCL_FUNCTIONS(RINGRT_FIELD)
    const char *find(void *library) {
        RINGRT_NCCL_FUNCTIONS(RINGRT_FIND)
        return nullptr;
    }
};

}  // namespace ringrt
