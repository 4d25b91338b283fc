// SPDX-License-Identifier: BSD-3-Clause
// Gpu: this process's GPU, with what reductions of buffers in its memory need. The interface is
// thin: it starts work and reports whether it has finished. Waiting, deadlines and the handling of
// failures are in device_collectives.h.
//
// NvidiaGpu (nvidia_gpu.cpp, nccl.cpp) uses NVIDIA's driver and NCCL. It opens both at run time
// (libcuda.so.1, libnccl.so.2), so that libringrt runs on machines without them. If configure did
// not find their headers, find_gpu() always returns null. The unit tests use a mock GPU in ordinary
// memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "libringrt/base/status.h"
#include "libringrt/gpu/device_pointer.h"

namespace ringrt {

class Gpu {
  public:
    using Name = std::array<std::byte, 16>;     // of a GPU; globally unique
    using Handle = std::array<std::byte, 64>;   // of memory, for other processes on its machine
    using Secret = std::array<std::byte, 128>;  // of one NCCL communicator
    using Event = std::shared_ptr<void>;        // a point in a stream
    enum class State { Running, Over };
    // A call of NCCL. `count` is that of the sum, or of one rank's block.
    struct Call {
        enum Kind { Allreduce, ReduceScatter, AllGather } kind = Allreduce;
        const void *send = nullptr;
        void *recv = nullptr;
        size_t count = 0;
        ringrt_dtype_t dtype = RINGRT_FLOAT32;
        ringrt_op_t op = RINGRT_SUM;
        bool operator==(const Call &) const = default;
    };

    // Where calls of NCCL run: in the library's own stream or in one of the program.
    struct Stream {
        bool own = true;
        void *program = nullptr;
        bool operator==(const Stream &) const = default;
    };

    virtual ~Gpu() = default;
    // The GPU that holds `memory`; -1 if it is ordinary memory.
    [[nodiscard]] virtual int device_of(const void *memory) = 0;
    // The GPU that the program has made current in this thread; -1: none.
    [[nodiscard]] virtual int current_device() { return -1; }
    // All later calls use this GPU. May be called again with the same one.
    virtual Status open(int device) = 0;
    [[nodiscard]] virtual Name name() const = 0;

    // ---- Points in streams; from any thread. `stream` is one that the program computes in.

    // UNSUPPORTED if the stream is being captured into a CUDA graph.
    virtual Status check_not_captured(void *stream) = 0;
    // A point after all work enqueued so far; not if the stream is being captured.
    virtual Status mark(void *stream, Event *out) = 0;
    // Work that the program enqueues on the stream from now on runs after that point.
    virtual Status make_stream_wait(void *stream, const Event &event) = 0;
    virtual Status passed(const Event &event, bool *out) = 0;
    // The time between two points that have passed.
    virtual Status between(const Event &from, const Event &to, double *us) = 0;

    // ---- The library's own stream; one thread at a time.

    virtual Status mark_own(Event *out) = 0;
    // Work started from now on runs after that point.
    virtual Status after(const Event &event) = 0;
    // Between any two addresses, including ordinary memory.
    virtual Status start_copy(void *out, const void *in, size_t bytes) = 0;
    // out[i] = the left fold of sources[..][i], with at most kSourcesMax sources; see reduce.h.
    static constexpr size_t kSourcesMax = 16;
    [[nodiscard]] virtual bool can_reduce() = 0;  // the first call is slow
    virtual Status start_reduce(std::span<const void *const> sources, void *out, size_t count,
                                ringrt_dtype_t dtype, ringrt_op_t op) = 0;
    // Has all started work ended, and without error? Reports errors of NCCL as well.
    virtual Status look(State *out) = 0;

    // Memory of this GPU, or with `host` the host memory that the GPU copies fastest. Free it with
    // the same `host`.
    virtual Status alloc(size_t bytes, bool host, void **out) = 0;
    virtual void free(void *memory, bool host) = 0;
    virtual Status available(size_t *bytes) = 0;          // of this GPU's memory
    virtual Status share(void *memory, Handle *out) = 0;  // of memory from alloc(…, false)
    virtual Status open_shared(const Handle &handle, void **out) = 0;
    virtual void close_shared(void *memory) = 0;

    // NCCL, non-blocking: look() reports when the start and the calls have finished.
    [[nodiscard]] virtual bool has_nccl() = 0;
    virtual Status nccl_unique_id(Secret *out) = 0;
    virtual Status nccl_start(const Secret &secret, int rank, int ranks) = 0;
    // Takes over what `other`, of the same type and on the same GPU, has started.
    virtual void take_nccl(Gpu &other) { (void)other; }
    // Makes the calls as one group. May wait for other ranks, until nccl_stop(). They may not be in
    // the stream yet on return: no other call until entered() says so.
    virtual Status nccl_call(std::span<const Call> calls, Stream stream) = 0;
    // Are all calls in their stream? Reports errors of NCCL as well.
    virtual Status entered(bool *out) = 0;
    // From any thread, also during nccl_call(): that returns, and calls in progress end.
    // nccl_end(true) must follow.
    virtual void nccl_stop() = 0;
    // Releases NCCL. With `failed`, all calls in progress end at once.
    virtual void nccl_end(bool failed) = 0;
};

// The GPU that holds `memory`; -1: ordinary memory. `gpu` may be null. From any thread.
[[nodiscard]] inline int device_of(Gpu *gpu, const void *memory) {
    if (memory == nullptr) return -1;
    return gpu == nullptr ? device_of_pointer(memory) : gpu->device_of(memory);
}

// One instance per caller. Null if there is no driver; then no memory can be a GPU's. Only opens
// the driver's library: the program's first use starts the driver.
[[nodiscard]] std::unique_ptr<Gpu> find_gpu();

}  // namespace ringrt
