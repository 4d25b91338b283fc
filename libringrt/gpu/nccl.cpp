// SPDX-License-Identifier: BSD-3-Clause
// NCCL on the GPU that NvidiaGpu has opened.
#include <cstring>

#include "libringrt/gpu/nvidia_gpu.h"

namespace ringrt {

Status NvidiaGpu::with_context(ncclResult_t result, const char *what) const {
    if (result == ncclSuccess || result == ncclInProgress) return {};
    return {result == ncclRemoteError ? RINGRT_PEER_LOST : RINGRT_SYSTEM_ERROR,
            format_text("NCCL on GPU %d: %s: %s (NCCL_DEBUG=WARN says more)", device_, what,
                        nccl_.ncclGetErrorString(result))};
}

// If the program has loaded its own copy, dlopen returns it: the name is the same.
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
    RINGRT_TRY(with_context(nccl_.ncclGetUniqueId(&id), "ncclGetUniqueId"));
    memcpy(out->data(), &id, sizeof id);
    return {};
}

Status NvidiaGpu::nccl_start(const Secret &secret, int rank, int ranks) {
    Here here(*this);
    ncclUniqueId id{};
    memcpy(&id, secret.data(), sizeof id);
    comm_ = std::make_unique<NcclComm>(nccl_, cuda_, context_);
    return with_context(comm_->start(id, rank, ranks), "ncclCommInitRankConfig");
}

void NvidiaGpu::take_nccl(Gpu &other) { comm_ = std::move(static_cast<NvidiaGpu &>(other).comm_); }

Status NvidiaGpu::nccl_call(std::span<const Call> calls, Stream stream) {
    Here here(*this);
    const ncclResult_t called =
        comm_->call(calls, stream.own ? stream_ : static_cast<CUstream>(stream.program));
    return with_context(called, "a group of calls");
}

Status NvidiaGpu::entered(bool *out) {
    *out = true;
    if (comm_ == nullptr) return {};
    Here here(*this);
    const ncclResult_t result = comm_->poll();
    *out = result != ncclInProgress;
    return with_context(result, "asynchronous error");
}

void NvidiaGpu::nccl_stop() {
    if (comm_ == nullptr) return;
    Here here(*this);
    comm_->stop();
}

void NvidiaGpu::nccl_end(bool failed) {
    if (comm_ == nullptr) return;
    Here here(*this);
    comm_->end(failed);
    comm_.reset();
}

}  // namespace ringrt
