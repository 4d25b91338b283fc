// SPDX-License-Identifier: BSD-3-Clause
// NCCL on the GPU that NvidiaGpu has opened (NCCL user guide, "Fault tolerance": non-blocking
// communicators report errors asynchronously, and any thread may abort them).
#include <chrono>
#include <cstring>
#include <thread>

#include "libringrt/gpu/nvidia_gpu.h"

namespace ringrt {
namespace {

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
        case RINGRT_INT8:
            return ncclInt8;
        case RINGRT_FLOAT8_E4M3:
            return static_cast<ncclDataType_t>(10);  // since 2.24; an older one refuses it
        case RINGRT_FLOAT8_E5M2:
            return static_cast<ncclDataType_t>(11);
        case RINGRT_UINT8:
        case RINGRT_BOOL:
            break;
    }
    return ncclUint8;
}

ncclRedOp_t nccl_op(ringrt_dtype_t dtype, ringrt_op_t op) {
    if (dtype == RINGRT_BOOL) return op == RINGRT_SUM || op == RINGRT_MAX ? ncclMax : ncclMin;
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

}  // namespace

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
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return with_context(nccl_.ncclCommInitRankConfig(&ring_, ranks, id, rank, &config),
                        "ncclCommInitRankConfig");
}

Status NvidiaGpu::nccl_call(std::span<const Call> calls) {
    Here here(*this);
    RINGRT_TRY(with_context(nccl_.ncclGroupStart(), "ncclGroupStart"));
    ncclResult_t first = ncclSuccess;
    for (const Call &each : calls) {
        const ncclDataType_t type = nccl_type(each.dtype);
        const ncclRedOp_t op = nccl_op(each.dtype, each.op);
        const ncclResult_t result =
            each.kind == Call::Allreduce
                ? nccl_.ncclAllReduce(each.send, each.recv, each.count, type, op, ring_, stream_)
            : each.kind == Call::ReduceScatter
                ? nccl_.ncclReduceScatter(each.send, each.recv, each.count, type, op, ring_,
                                          stream_)
                : nccl_.ncclAllGather(each.send, each.recv, each.count, type, ring_, stream_);
        if (first == ncclSuccess && result != ncclInProgress) first = result;
    }
    const ncclResult_t ended = nccl_.ncclGroupEnd();  // also if a call was rejected
    RINGRT_TRY(with_context(first, "ncclGroupStart"));
    return with_context(ended, "ncclGroupEnd");
}

Status NvidiaGpu::entered(bool *out) {
    *out = true;
    if (ring_ == nullptr) return {};
    Here here(*this);
    ncclResult_t result = ncclSuccess;
    RINGRT_TRY(with_context(nccl_.ncclCommGetAsyncError(ring_, &result), "ncclCommGetAsyncError"));
    *out = result != ncclInProgress;
    return with_context(result, "asynchronous error");
}

void NvidiaGpu::nccl_end(bool failed) {
    constexpr auto kFinalizeTimeout =
        std::chrono::seconds(5);  // the other ranks are ending as well
    if (ring_ == nullptr) return;
    Here here(*this);
    ncclResult_t result = failed ? ncclRemoteError : nccl_.ncclCommFinalize(ring_);
    auto until = std::chrono::steady_clock::now() + kFinalizeTimeout;
    while (result == ncclInProgress && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (nccl_.ncclCommGetAsyncError(ring_, &result) != ncclSuccess) result = ncclRemoteError;
    }
    result == ncclSuccess ? nccl_.ncclCommDestroy(ring_) : nccl_.ncclCommAbort(ring_);
    ring_ = nullptr;
}

}  // namespace ringrt
