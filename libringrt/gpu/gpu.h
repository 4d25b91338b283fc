// SPDX-License-Identifier: BSD-3-Clause
// Gpu: the GPU of this process, as far as sums of buffers in its memory need it. Thin: it starts
// things and says whether they are over; who waits, for how long, and what a failure means, is the
// business of device_collectives.h.
//
// nccl.cpp is the one behind NVIDIA's driver and NCCL. Both are opened when they are needed
// (libcuda.so.1, libnccl.so.2), so that libringrt runs on machines without; where configure did not
// find their headers find_gpu() is always null. The unit tests have one in ordinary memory.
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
    using Name = std::array<std::byte, 16>;     // of a GPU, in the whole world
    using Handle = std::array<std::byte, 64>;   // of memory, for other processes of its machine
    using Secret = std::array<std::byte, 128>;  // by which the ranks of one NCCL find each other
    using Event = std::shared_ptr<void>;        // a point in a stream
    enum class State { Running, Over };
    // Of NCCL. `count` is of the sum, or of one rank's block.
    struct Call {
        enum Kind { Allreduce, ReduceScatter, AllGather } kind = Allreduce;
        const void *send = nullptr;
        void *recv = nullptr;
        size_t count = 0;
        ringrt_dtype_t dtype = RINGRT_FLOAT32;
        ringrt_op_t op = RINGRT_SUM;
        bool operator==(const Call &) const = default;
    };

    virtual ~Gpu() = default;
    // The GPU that `memory` lies on, -1 where it is ordinary memory.
    [[nodiscard]] virtual int device_of(const void *memory) = 0;
    // All that follows is about this GPU. May be called again for the same one.
    virtual Status open(int device) = 0;
    [[nodiscard]] virtual Name name() const = 0;

    // ---- Points in streams; any thread may ask. `stream` is one that the program computes in.

    // All that was put into it so far. UNSUPPORTED where it is captured into a CUDA graph.
    virtual Status mark(void *stream, Event *out) = 0;
    // What the program puts into it from now on runs after that point.
    virtual Status let_wait(void *stream, const Event &event) = 0;
    virtual Status passed(const Event &event, bool *out) = 0;
    // Time between two that are passed.
    virtual Status between(const Event &from, const Event &to, double *us) = 0;

    // ---- The stream of the library's own; by one thread at a time.

    virtual Status mark_own(Event *out) = 0;
    // What is started from now on runs after that point.
    virtual Status after(const Event &event) = 0;
    // Between any two places, ordinary memory as well.
    virtual Status start_copy(void *out, const void *in, size_t bytes) = 0;
    // out[i] = the left fold of sources[..][i]; at most kSourcesMax sources; see reduce.h.
    static constexpr size_t kSourcesMax = 16;
    [[nodiscard]] virtual bool can_reduce() = 0;  // the first call takes its time
    virtual Status start_reduce(std::span<const void *const> sources, void *out, size_t count,
                                ringrt_dtype_t dtype, ringrt_op_t op) = 0;
    // Is all that was started over, and was it right? Also says when NCCL failed meanwhile.
    virtual Status look(State *out) = 0;

    // Of this GPU, or (host) where the GPU copies to and from fastest. Freed by the same kind.
    virtual Status alloc(size_t bytes, bool host, void **out) = 0;
    virtual void free(void *memory, bool host) = 0;
    virtual Status share(void *memory, Handle *out) = 0;  // what alloc(…, false) gave
    virtual Status open_shared(const Handle &handle, void **out) = 0;
    virtual void close_shared(void *memory) = 0;

    // NCCL, never waiting: the start and what is called are over when look() says so.
    [[nodiscard]] virtual bool has_nccl() = 0;
    virtual Status nccl_unique_id(Secret *out) = 0;
    virtual Status nccl_start(const Secret &secret, int rank, int ranks) = 0;
    // As one group. Without blocking it may not be in the stream yet when this returns.
    virtual Status nccl_call(std::span<const Call> calls) = 0;
    // Is all that was called in the stream? Also says when NCCL failed meanwhile.
    virtual Status entered(bool *out) = 0;
    // Lets go of NCCL. With `failed`, whatever is under way ends at once.
    virtual void nccl_end(bool failed) = 0;
};

// The GPU that `memory` lies on, -1: ordinary memory. `gpu` may be null. From any thread.
[[nodiscard]] inline int device_of(Gpu *gpu, const void *memory) {
    if (memory == nullptr) return -1;
    return gpu == nullptr ? device_of_pointer(memory) : gpu->device_of(memory);
}

// One for each caller; null where there is no driver: then no memory can be a GPU's. Only opens the
// driver's library: what starts the driver is the program's first use of it.
[[nodiscard]] std::unique_ptr<Gpu> find_gpu();

}  // namespace ringrt
