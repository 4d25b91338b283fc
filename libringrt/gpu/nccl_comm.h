// SPDX-License-Identifier: BSD-3-Clause
// NcclComm: one rank's communicator of NCCL.
//
//     start() ──► Starting ──► Splitting ──► Ready ──► end()
//
// NCCL starts a thread for every group of calls on a non-blocking communicator, which costs the
// caller 60 to 180 µs (2.28, two ranks); on a blocking one the same group takes about 7 µs. But a
// blocking call may wait for other ranks, for a connection that it is the first to need. So there
// are two:
//
//     guard   non-blocking: its start can be polled and aborted. Not used for calls.
//     calls   blocking, split off the guard, with which it shares its abort flag (splitShare).
//
// Aborting the guard sets the flag, so a call in progress returns; then nobody uses the other
// communicator and it can be aborted too. (NCCL user guide, "Fault tolerance", "ncclConfig_t")
#pragma once

#include <mutex>
#include <span>

#include "libringrt/gpu/gpu.h"
#include "libringrt/gpu/gpu_functions.h"

namespace ringrt {

class NcclComm {
  public:
    NcclComm(const NcclFunctions &nccl, const CudaFunctions &cuda, CUcontext context);
    ~NcclComm() { end(true); }
    NcclComm(const NcclComm &) = delete;
    NcclComm &operator=(const NcclComm &) = delete;

    // Does not block.
    ncclResult_t start(const ncclUniqueId &id, int rank, int ranks);
    // ncclInProgress until the start is over. Then NCCL's asynchronous error. Does not block.
    ncclResult_t poll();
    // Makes the calls as one group in `stream`. May wait for other ranks, until stop().
    ncclResult_t call(std::span<const Gpu::Call> calls, CUstream stream);
    // From any thread, also during call(): that returns, and work in streams ends. Call end() then.
    void stop();
    // Without `failed` it waits for the other ranks to end too, for some seconds. Not during
    // call().
    void end(bool failed);

  private:
    enum Stage { None, Starting, Splitting, Ready, Ended };
    bool end_in_order();
    bool end_calls();

    const NcclFunctions nccl_;
    const CudaFunctions cuda_;
    const CUcontext context_;
    std::mutex guard_mutex_;
    ncclComm_t guard_ = nullptr, calls_ = nullptr;
    int rank_ = 0;
    Stage stage_ = None;
};

}  // namespace ringrt
