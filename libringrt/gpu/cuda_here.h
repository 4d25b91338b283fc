// SPDX-License-Identifier: BSD-3-Clause
// Makes a GPU's context current in this thread for its lifetime.
#pragma once

#include "libringrt/gpu/gpu_functions.h"

namespace ringrt {

// While the program captures any stream, other threads' queries and allocations would fail and
// spoil the capture, unless the thread is in the relaxed mode.
class CudaHere {
  public:
    CudaHere(const CudaFunctions &cuda, CUcontext context) : cuda_(cuda) {
        pushed_ = context != nullptr && cuda.cuCtxPushCurrent(context) == CUDA_SUCCESS;
        (void)cuda.cuThreadExchangeStreamCaptureMode(&mode_);
    }
    ~CudaHere() {
        CUcontext ignored;
        (void)cuda_.cuThreadExchangeStreamCaptureMode(&mode_);
        if (pushed_) cuda_.cuCtxPopCurrent(&ignored);
    }
    CudaHere(const CudaHere &) = delete;
    CudaHere &operator=(const CudaHere &) = delete;

  private:
    const CudaFunctions &cuda_;
    bool pushed_ = false;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // then the thread's former one
};

}  // namespace ringrt
