// SPDX-License-Identifier: BSD-3-Clause
// Gpu implemented with NVIDIA's driver (nvidia_gpu.cpp) and NCCL (nccl.cpp, nccl_comm.h).
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "libringrt/gpu/cuda_here.h"
#include "libringrt/gpu/gpu.h"
#include "libringrt/gpu/nccl_comm.h"

namespace ringrt {

class NvidiaGpu : public Gpu {
  public:
    explicit NvidiaGpu(const CudaFunctions &cuda) : cuda_(cuda) {}
    ~NvidiaGpu() override;
    int device_of(const void *memory) override;
    int current_device() override;
    Status open(int device) override;
    Name name() const override { return name_; }
    Status check_not_captured(void *stream) override;
    Status mark(void *stream, Event *out) override;
    Status make_stream_wait(void *stream, const Event &event) override;
    Status passed(const Event &event, bool *out) override;
    Status between(const Event &from, const Event &to, double *us) override;
    Status mark_own(Event *out) override;
    Status after(const Event &event) override;
    Status start_copy(void *out, const void *in, size_t bytes) override;
    bool can_reduce() override;
    Status start_reduce(std::span<const void *const> sources, void *out, size_t count,
                        ringrt_dtype_t dtype, ringrt_op_t op) override;
    Status look(State *out) override;
    Status alloc(size_t bytes, bool host, void **out) override;
    void free(void *memory, bool host) override;
    Status available(size_t *bytes) override;
    Status share(void *memory, Handle *out) override;
    Status open_shared(const Handle &handle, void **out) override;
    void close_shared(void *memory) override;
    bool has_nccl() override;
    Status nccl_unique_id(Secret *out) override;
    Status nccl_start(const Secret &secret, int rank, int ranks) override;
    void take_nccl(Gpu &other) override;
    Status nccl_call(std::span<const Call> calls, Stream stream) override;
    Status entered(bool *out) override;
    void nccl_stop() override;
    void nccl_end(bool failed) override;

  private:
    struct Here : CudaHere {
        explicit Here(const NvidiaGpu &gpu) : CudaHere(gpu.cuda_, gpu.context_) {}
    };
    // Events that are not in use, for the next marks: making one costs as much as recording it.
    struct Pool {
        std::mutex mutex;
        std::vector<CUevent> free;
    };
    Status record(CUstream stream, const char *where, Event *out);
    Status with_context(CUresult result, const char *what) const;
    Status with_context(ncclResult_t result, const char *what) const;

    CudaFunctions cuda_;
    NcclFunctions nccl_;
    enum { Unknown, There, Missing } has_nccl_ = Unknown, can_reduce_ = Unknown;
    int device_ = -1;
    Name name_{};
    std::atomic<CUcontext> context_ = nullptr;  // device_of() reads it from any thread
    CUstream stream_ = nullptr;
    CUmodule kernels_ = nullptr;
    Pool pool_;
    std::unique_ptr<NcclComm> comm_;
};

}  // namespace ringrt
