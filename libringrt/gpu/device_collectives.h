// SPDX-License-Identifier: BSD-3-Clause
// Reductions of buffers in GPU memory. Before the first one all ranks meet over host memory and
// agree on a route:
//
// clang-format off
//   nccl          one NCCL communicator over all ranks; on its own only if each has its own GPU
//   hierarchical  NCCL within each node, host memory between nodes: reduce-scatter by NCCL, each rank
//                 reduces its part with the same rank of the other nodes, all-gather by NCCL
//   ipc           ranks of one node that share a GPU, which NCCL rejects: each rank copies to memory
//                 that the others have opened (CUDA IPC), and reduces all ranks' data in rank order
//   host          otherwise: through host memory and its allreduce
// clang-format on
//
// RINGRT_GPU selects one; the default is nccl, or else ipc, or else host. The last two give the
// same bits as reductions in ordinary memory; NCCL adds in an order of its own.
//
// With nccl a reduction is stream-ordered, and no call waits for the GPU:
//
// clang-format off
//   a call       program's stream ── what makes the input ── NCCL's call ── what reads the sum
//   gradients    program's stream ──ready──┐                          ┌─── what reads the sum
//                                          ▼                          │
//                library's stream          NCCL's calls ──ended───────┘
//   watch(): errors, lost ranks, deadline
// clang-format on
//
// A rank that makes a different call gets an error from its next call over host memory, whose
// header counts the GPU calls (OpHeader). With the other routes the ranks meet at each call, which
// returns with the sum.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "libringrt/base/deadline.h"
#include "libringrt/bootstrap/topology.h"
#include "libringrt/gpu/gpu.h"
#include "libringrt/schedule/executor.h"

namespace ringrt {

class DeviceCollectives {
  public:
    // RINGRT_GPU's, as a number; all ranks need the same.
    [[nodiscard]] static int requested_route();

    // The ranks' functions over host memory; all but watch are collective.
    struct Host {
        std::function<Status(const Work &)> meet;
        std::function<void(std::span<const Gpu::Call>)> note;  // records calls without a meeting
        std::function<Status(const void *mine, void *all, size_t bytes)> all_gather;
        std::function<Status(const Work &)> allreduce;
        std::function<Status(const Work &)> allreduce_on_rail;  // ranks of one local index
        std::function<Status()> watch;                          // fails if a rank is lost
        uint32_t start_timeout_ms = 120000;                     // of NCCL's start
        std::function<std::unique_ptr<Gpu>()> another{};        // one more instance
        std::function<bool()> skips_ahead{};                    // ends start_ahead(); any thread
    };
    DeviceCollectives(const RankContext &self, const Topology &topology, std::unique_ptr<Gpu> gpu,
                      Host host)
        : self_(self), topology_(topology), host_(std::move(host)), gpu_(std::move(gpu)) {}
    ~DeviceCollectives();

    // The GPU that holds `memory`; -1: ordinary memory. From any thread.
    [[nodiscard]] int device_of(const void *memory) {
        return ringrt::device_of(gpu_.get(), memory);
    }
    // Whether send and recv are on a GPU. INVALID_ARGUMENT if they are on different devices,
    // UNSUPPORTED if this library cannot use their GPU. Opens the GPU.
    Status memory_kind_of(const void *send, const void *recv, bool *on_gpu);
    // The program's stream, for mark() and make_stream_wait(). From any thread.
    void set_stream(void *stream) { stream_ = stream; }
    Status mark(Gpu::Event *out) { return gpu_->mark(stream_, out); }
    Status make_stream_wait(const Gpu::Event &event) {
        return gpu_->make_stream_wait(stream_, event);
    }
    Status passed(const Gpu::Event &event, bool *out) { return gpu_->passed(event, out); }
    Status between(const Gpu::Event &from, const Gpu::Event &to, double *us) {
        return gpu_->between(from, to, us);
    }
    Status alloc(size_t bytes, void **out) { return gpu_->alloc(bytes, false, out); }
    void free(void *memory) {
        if (gpu_ != nullptr) gpu_->free(memory, false);
    }

    // Collective; before all other functions, and from any thread. If every rank names its GPU
    // (`device`; -1: none, or not known) and the route will be NCCL's, starts NCCL, which the first
    // call then finds started. Otherwise, or if a rank's buffers turn out to be on another GPU, the
    // first call starts NCCL. A failure is this communicator's.
    Status start_ahead(int device);
    // The GPU with which NCCL has started; -1: none.
    [[nodiscard]] int nccl_device() const {
        return ahead_.gpu != nullptr ? ahead_.device : uses_nccl() ? device_.load() : -1;
    }

    [[nodiscard]] bool is_open() const { return opened_ || ahead_.gpu != nullptr; }

    // Collective. Agrees on a route at the first call; `work` describes it. *in_stream_order: the
    // route is nccl.
    Status open(const Work &work, bool *in_stream_order);
    // Collective. Starts after `ready` and returns with the sum.
    Status allreduce(const Work &work, const Gpu::Event &ready);
    // When the library's stream reached the enqueued calls, and when they ended.
    struct Enqueued {
        Gpu::Event begun, ended;
    };
    // Collective; requires in_stream_order from open(). Makes NCCL's calls as one group, after all
    // events of `after`; returns when they are in the library's stream. Without calls it only makes
    // the events.
    Status enqueue(std::span<const Gpu::Call> calls, std::span<const Gpu::Event> after,
                   Enqueued *out);
    // After the work that the program's stream holds, and before the work it gets later.
    Status in_stream_order(const Gpu::Call &call);
    // The call itself, after `ready`; returns with its result.
    Status by_nccl(const Gpu::Call &call, const Gpu::Event &ready);
    // Returns whether enqueued work is without error; *idle: all of it has ended. Not collective.
    // Poll it: nothing else detects that NCCL waits for a lost rank.
    Status watch(bool *idle);
    // From another thread, every few milliseconds while a function of this class runs: ends a call
    // of NCCL that waits for a lost rank, or for too long.
    void watch_call();
    [[nodiscard]] bool uses_nccl() const { return opened_ && is_nccl(route_); }
    [[nodiscard]] bool pending() const { return !pending_.empty(); }
    // A call has failed, here or at another rank: releases the streams that wait for NCCL.
    void give_up();
    // Returns when the bytes are copied; either side may be on a GPU. Not collective.
    Status copy_now(void *out, const void *in, size_t bytes, const Gpu::Event &ready = nullptr);
    // Collective; call it after a run without failure. Without it the destructor releases
    // everything.
    Status end();
    // For when the process and its peers are about to end: the driver cleans up the GPU. NCCL
    // requires that the ranks of a node abort their communicators together, or not at all.
    void leave_to_exit() {
        pending_.clear();
        last_ = nullptr;
        (void)gpu_.release();
        (void)ahead_.gpu.release();
    }

  private:
    static constexpr const char *kByNccl = "a sum by NCCL";
    enum Route : int { Auto, Nccl, Hierarchical, Ipc, Through, kRoutes };
    // What each rank reports about itself before NCCL's start or the first reduction.
    struct RankGpu {
        Gpu::Name gpu{};
        int32_t requested = 0;
        uint8_t has_nccl = 0, can_reduce = 0;
        // In start_ahead(): its GPU is known. At the first reduction: NCCL has started on that GPU.
        uint8_t ahead = 0;
        uint8_t zero = 0;
    };
    [[nodiscard]] static RankGpu report(Gpu &gpu);
    Status agree(const Work &work);
    Status choose(const std::vector<RankGpu> &gpus);
    [[nodiscard]] static bool is_nccl(Route route) {
        return route == Nccl || route == Hierarchical;
    }
    [[nodiscard]] bool take_ahead(const std::vector<RankGpu> &gpus);
    Status start_nccl(Gpu &gpu, Route route);
    Status open_staging(size_t each, bool *all_could);
    Status with_nccl_per_node(const Work &work);
    Status with_ipc(const Work &work);
    Status through_host(const Work &work);
    Status after_last();  // in the library's stream
    Status call_nccl(std::span<const Gpu::Call> calls, Gpu::Stream stream);
    Status call_watched(std::span<const Gpu::Call> calls, Gpu::Stream stream);
    Status until_entered(const char *phase);
    Status failed(Status status, const char *phase);
    Status with_lost_rank(Status status);
    Status wait(const char *phase) { return wait(*gpu_, phase, self_.timeout_ms); }
    Status wait(Gpu &gpu, const char *phase, uint32_t timeout_ms);
    Status make(size_t bytes, bool host, void **out);
    void release();
    [[nodiscard]] std::vector<int> neighbours() const;

    const RankContext &self_;
    const Topology &topology_;
    Host host_;
    std::unique_ptr<Gpu> gpu_;  // null if there is none
    std::mutex open_mutex_;
    std::atomic<void *> stream_ = nullptr;
    std::deque<Gpu::Event> pending_;    // of enqueue(): not known to have ended
    std::optional<Deadline> of_first_;  // of the first of pending_
    // The end of the newest NCCL calls, and their stream. Calls in another stream wait for it, so
    // that all ranks' calls run in one order.
    Gpu::Event last_;
    Gpu::Stream last_stream_;
    struct NcclCall {
        std::mutex mutex;  // held by the call's thread when it returns: it and watch_call() use the
                           // host's connections, one at a time
        bool in_progress = false;
        std::optional<Deadline> deadline;
        Status failure;  // found by watch_call()
    } nccl_call_;
    bool opened_ = false, shared_ = false;  // shared_: two ranks use one GPU
    Route route_ = Auto;
    std::atomic<int> device_ = -1;  // that gpu_ has opened
    // Another instance, because nothing says for certain which GPU the first buffer is on.
    struct Ahead {
        std::unique_ptr<Gpu> gpu;  // null: NCCL was not started ahead, or it was taken over
        int device = -1;
        Route route = Auto;
    } ahead_;
    void *staging_ = nullptr, *part_ = nullptr, *bounce_ = nullptr;  // bounce_ is host memory
    std::vector<void *> mapped_;                                     // staging memory by rank
};

}  // namespace ringrt
