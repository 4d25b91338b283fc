// SPDX-License-Identifier: BSD-3-Clause
// NcclComm (libringrt/gpu/nccl_comm.h) on a mock NCCL: functions of this file that note what is
// called.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "libringrt/gpu/nccl_comm.h"
#include "tests/support/check.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

// The mock. Addresses of `guard` and `calls` are the two communicators.
struct Mock {
    char guard = 0, calls = 0;
    std::mutex mutex;
    std::string log;
    std::atomic<ncclResult_t> of_guard = ncclSuccess, of_calls = ncclSuccess,
                              of_allreduce = ncclSuccess;
    std::atomic<bool> hangs = false, deaf = false, aborted = false, let_go = false,
                      returned = false;
    std::atomic<CUstream> stream = nullptr;

    void note(const char *what, ncclComm_t comm) {
        const std::scoped_lock lock(mutex);
        log += std::string(log.empty() ? "" : ", ") + what +
               (comm == as_comm(&guard)   ? " guard"
                : comm == as_comm(&calls) ? " calls"
                                          : "");
    }
    std::string logged() {
        const std::scoped_lock lock(mutex);
        return std::exchange(log, "");
    }
    static ncclComm_t as_comm(char *address) { return reinterpret_cast<ncclComm_t>(address); }
};
Mock *mock = nullptr;

ncclResult_t done(const char *what, ncclComm_t comm, ncclResult_t result = ncclSuccess) {
    mock->note(what, comm);
    return result;
}

// Returns whether it had to.
bool wait_for_ranks() {
    const bool waits = mock->hangs;
    while (mock->hangs && !(mock->aborted && !mock->deaf) && !mock->let_go)
        std::this_thread::yield();
    return waits;
}

NcclFunctions functions() {
    NcclFunctions out;
    out.ncclCommInitRankConfig = [](ncclComm_t *comm, int, ncclUniqueId, int,
                                    ncclConfig_t *config) {
        ck_assert_int_eq(config->blocking, 0);
        ck_assert_int_eq(config->splitShare, 1);
        *comm = Mock::as_comm(&mock->guard);
        return done("start", *comm, ncclInProgress);
    };
    out.ncclCommSplit = [](ncclComm_t comm, int color, int key, ncclComm_t *child,
                           ncclConfig_t *config) {
        ck_assert_int_eq(config->blocking, 1);
        ck_assert_int_eq(color, 0);
        ck_assert_int_eq(key, 3);
        *child = Mock::as_comm(&mock->calls);
        return done("split", comm, ncclInProgress);
    };
    out.ncclCommGetAsyncError = [](ncclComm_t comm, ncclResult_t *result) {
        *result = comm == Mock::as_comm(&mock->guard) ? mock->of_guard : mock->of_calls;
        return ncclSuccess;
    };
    out.ncclCommFinalize = [](ncclComm_t comm) {
        mock->note("finalize", comm);
        if (comm == Mock::as_comm(&mock->guard)) return ncclInProgress;
        const bool waited = wait_for_ranks();
        mock->returned = true;
        return waited ? ncclRemoteError : ncclSuccess;
    };
    out.ncclCommDestroy = [](ncclComm_t comm) { return done("destroy", comm); };
    out.ncclCommAbort = [](ncclComm_t comm) {
        mock->aborted = true;
        return done("abort", comm);
    };
    out.ncclGroupStart = [] { return ncclSuccess; };
    out.ncclGroupEnd = [] { return done("group", nullptr); };
    out.ncclAllReduce = [](const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t comm, cudaStream_t stream) {
        mock->stream = stream;
        mock->note("allreduce", comm);
        (void)wait_for_ranks();
        return mock->of_allreduce.load();
    };
    return out;
}

CudaFunctions driver() {
    CudaFunctions out;
    out.cuCtxPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
    out.cuCtxPopCurrent = [](CUcontext *) { return CUDA_SUCCESS; };
    out.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode *) { return CUDA_SUCCESS; };
    return out;
}

// A communicator and its mock.
struct Comm {
    Comm() { mock = &fake; }
    void start() {
        ck_assert_int_eq(comm.start({}, 3, 4), ncclSuccess);
        ck_assert_int_eq(comm.poll(), ncclInProgress);
        ck_assert_int_eq(comm.poll(), ncclSuccess);
        EXPECT_TEXT(fake.logged(), "start guard, split guard");
    }
    ncclResult_t call() {
        const Gpu::Call one{Gpu::Call::Allreduce, this, this, 1, RINGRT_FLOAT32, RINGRT_SUM};
        return comm.call({&one, 1}, reinterpret_cast<CUstream>(this));
    }

    Mock fake;
    NcclComm comm{functions(), driver(), nullptr};
};

}  // namespace

TEST(a_start_is_polled_in_two_parts) {
    Comm it;
    it.fake.of_guard = ncclInProgress;
    ck_assert_int_eq(it.comm.start({}, 3, 4), ncclSuccess);
    ck_assert_int_eq(it.comm.poll(), ncclInProgress);
    EXPECT_TEXT(it.fake.logged(), "start guard");
    it.fake.of_guard = ncclSuccess;
    ck_assert_int_eq(it.comm.poll(), ncclInProgress);
    EXPECT_TEXT(it.fake.logged(), "split guard");
    ck_assert_int_eq(it.comm.poll(), ncclSuccess);
    it.comm.end(true);
    EXPECT_TEXT(it.fake.logged(), "abort guard, abort calls");
}

TEST(a_start_that_fails_is_aborted) {
    Comm it;
    it.fake.of_guard = ncclRemoteError;
    ck_assert_int_eq(it.comm.start({}, 3, 4), ncclSuccess);
    ck_assert_int_eq(it.comm.poll(), ncclRemoteError);
    it.comm.end(true);
    EXPECT_TEXT(it.fake.logged(), "start guard, abort guard");
}

TEST(calls_are_made_on_the_blocking_one) {
    Comm it;
    it.start();
    ck_assert_int_eq(it.call(), ncclSuccess);
    EXPECT_TEXT(it.fake.logged(), "allreduce calls, group");
    ck_assert_ptr_eq(it.fake.stream, &it);
    ck_assert_int_eq(it.comm.poll(), ncclSuccess);
    it.fake.of_calls = ncclSystemError;
    ck_assert_int_eq(it.comm.poll(), ncclSystemError);
    it.comm.end(false);
    EXPECT_TEXT(it.fake.logged(), "finalize calls, destroy calls, finalize guard, destroy guard");
}

TEST(a_call_that_fails_is_reported) {
    Comm it;
    it.start();
    it.fake.of_allreduce = ncclInvalidArgument;
    ck_assert_int_eq(it.call(), ncclInvalidArgument);
    it.fake.logged();
    it.comm.end(true);
    EXPECT_TEXT(it.fake.logged(), "abort guard, abort calls");
}

// The guard's abort ends the call, and only then the other communicator is freed.
TEST(a_call_that_waits_for_a_lost_rank_is_ended) {
    Comm it;
    it.fake.hangs = true;
    it.start();
    std::thread watch([&] {
        while (it.fake.stream == nullptr) std::this_thread::yield();
        it.comm.stop();
        it.comm.stop();
    });
    (void)it.call();
    watch.join();
    it.comm.end(true);
    EXPECT_TEXT(it.fake.logged(), "allreduce calls, abort guard, group, abort calls");
}

// The other ranks do not end. After some seconds NCCL is stopped.
TEST(an_end_that_waits_for_a_lost_rank_is_ended) {
    for (const bool deaf : {false, true}) {
        Comm it;
        it.start();
        it.fake.hangs = true;
        it.fake.deaf = deaf;
        it.comm.end(false);
        EXPECT_TEXT(it.fake.logged(), deaf ? "finalize calls, abort guard"
                                           : "finalize calls, abort guard, abort calls");
        it.fake.let_go = true;  // the thread that was left
        while (deaf && !it.fake.returned) std::this_thread::yield();
    }
}

int main() { return run_all("nccl_comm"); }
