// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gpu/nccl_comm.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "libringrt/base/clock.h"
#include "libringrt/base/thread.h"
#include "libringrt/gpu/cuda_here.h"

namespace ringrt {
namespace {

constexpr auto kEndTimeout = std::chrono::seconds(5);  // the other ranks are ending as well

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
        case RINGRT_UINT32:
            return ncclUint32;
        case RINGRT_UINT64:
            return ncclUint64;
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

// Whether `over` becomes true in time.
bool await(const std::function<bool()> &over) {
    const auto until = Clock::now() + kEndTimeout;
    while (!over()) {
        if (Clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace

NcclComm::NcclComm(const NcclFunctions &nccl, const CudaFunctions &cuda, CUcontext context)
    : nccl_(nccl), cuda_(cuda), context_(context) {}

ncclResult_t NcclComm::start(const ncclUniqueId &id, int rank, int ranks) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = 1;
    rank_ = rank;
    stage_ = Starting;
    const ncclResult_t started = nccl_.ncclCommInitRankConfig(&guard_, ranks, id, rank, &config);
    return started == ncclInProgress ? ncclSuccess : started;
}

ncclResult_t NcclComm::poll() {
    ncclResult_t result = ncclSuccess;
    if (stage_ == Starting || stage_ == Splitting) {
        const ncclResult_t asked = nccl_.ncclCommGetAsyncError(guard_, &result);
        if (asked != ncclSuccess || result != ncclSuccess)
            return asked != ncclSuccess ? asked : result;
        if (stage_ == Starting) {
            ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
            config.blocking = 1;
            stage_ = Splitting;
            const ncclResult_t split = nccl_.ncclCommSplit(guard_, 0, rank_, &calls_, &config);
            return split == ncclSuccess ? ncclInProgress : split;
        }
        if (calls_ == nullptr) return ncclInternalError;
        stage_ = Ready;
        return ncclSuccess;
    }
    if (stage_ != Ready) return ncclSuccess;
    const ncclResult_t asked = nccl_.ncclCommGetAsyncError(calls_, &result);
    return asked != ncclSuccess ? asked : result;
}

ncclResult_t NcclComm::call(std::span<const Gpu::Call> calls, CUstream stream) {
    ncclResult_t first = nccl_.ncclGroupStart();
    if (first != ncclSuccess) return first;
    for (const Gpu::Call &each : calls) {
        const ncclDataType_t type = nccl_type(each.dtype);
        const ncclRedOp_t op = nccl_op(each.dtype, each.op);
        const ncclResult_t called =
            each.kind == Gpu::Call::Allreduce
                ? nccl_.ncclAllReduce(each.send, each.recv, each.count, type, op, calls_, stream)
            : each.kind == Gpu::Call::ReduceScatter
                ? nccl_.ncclReduceScatter(each.send, each.recv, each.count, type, op, calls_,
                                          stream)
                : nccl_.ncclAllGather(each.send, each.recv, each.count, type, calls_, stream);
        if (first == ncclSuccess) first = called;
    }
    const ncclResult_t ended = nccl_.ncclGroupEnd();  // also if a call was rejected
    return first == ncclSuccess ? ended : first;
}

void NcclComm::stop() {
    const std::scoped_lock lock(guard_mutex_);
    if (guard_ != nullptr) nccl_.ncclCommAbort(std::exchange(guard_, nullptr));
}

// The end of a blocking communicator waits for ranks that may be lost, so a thread does it. If NCCL
// does not return, the thread stays, with its communicator.
bool NcclComm::end_calls() {
    struct Ending {
        NcclFunctions nccl;
        CudaFunctions cuda;
        CUcontext context;
        ncclComm_t comm;
        ncclResult_t result = ncclInProgress;
        std::atomic<bool> over = false;
    };
    const auto ending = std::make_shared<Ending>(nccl_, cuda_, context_, calls_);
    std::thread thread = start_thread(
        [ending] {
            const CudaHere here(ending->cuda, ending->context);
            ending->result = ending->nccl.ncclCommFinalize(ending->comm);
            if (ending->result == ncclSuccess)
                ending->result = ending->nccl.ncclCommDestroy(ending->comm);
            ending->over = true;
        },
        [](ringrt_status_t, const char *) {});
    bool over = await([&] { return ending->over.load(); });
    if (!over) {
        stop();
        over = await([&] { return ending->over.load(); });
    }
    over ? thread.join() : thread.detach();
    if (!over || ending->result == ncclSuccess) calls_ = nullptr;
    return over && ending->result == ncclSuccess;
}

bool NcclComm::end_in_order() {
    if (stage_ != Ready || guard_ == nullptr || !end_calls() || guard_ == nullptr) return false;
    ncclResult_t result = nccl_.ncclCommFinalize(guard_);
    const bool finalized = await([&] {
        return result != ncclInProgress ||
               nccl_.ncclCommGetAsyncError(guard_, &result) != ncclSuccess ||
               result != ncclInProgress;
    });
    if (!finalized || result != ncclSuccess) return false;
    nccl_.ncclCommDestroy(std::exchange(guard_, nullptr));
    return true;
}

void NcclComm::end(bool failed) {
    if (stage_ == None || stage_ == Ended) return;
    if (failed || !end_in_order()) {
        stop();
        if (calls_ != nullptr) nccl_.ncclCommAbort(std::exchange(calls_, nullptr));
    }
    stage_ = Ended;
}

}  // namespace ringrt
