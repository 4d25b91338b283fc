// SPDX-License-Identifier: BSD-3-Clause
// Sums of buffers in GPU memory. Before the first one all ranks meet over ordinary memory, and
// agree on a way:
//
// clang-format off
//   nccl          every rank has a GPU of its own: one NCCL communicator over all ranks
//   hierarchical  NCCL within each node, the host's ring between nodes: reduce-scatter by NCCL, each
//                 rank sums its part with the same rank of the other nodes, all-gather by NCCL
//   ipc           ranks of one node that share a GPU, which NCCL refuses: each copies to memory that
//                 the others have opened (CUDA IPC), and reduces all ranks' in rank order
//   host          whatever else: through the host's memory and its allreduce
// clang-format on
//
// RINGRT_GPU names one; without it nccl, else ipc, else host. The last two give the same bits as
// sums in ordinary memory do; NCCL adds in an order of its own.
//
// By nccl a sum is in stream order, and no call waits for the GPU:
//
// clang-format off
//   program's stream ──ready──┐                          ┌─── what reads the sum
//                             ▼                          │
//   library's stream          NCCL's calls ──ended───────┘     watch(): errors, lost ranks, deadline
// clang-format on
//
// Ranks that call something else are told at their next call over ordinary memory, whose header
// counts the calls on GPUs (OpHeader). The other ways meet at each call, and return with the sum.
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
    // What the ranks do over ordinary memory; all but watch are collective.
    struct Host {
        std::function<Status(const Work &)> meet;
        std::function<void(std::span<const Gpu::Call>)> note;  // a call that does not meet
        std::function<Status(const void *mine, void *all, size_t bytes)> all_gather;
        std::function<Status(const Work &)> allreduce;
        std::function<Status(const Work &)> allreduce_on_rail;  // this rank of all nodes
        std::function<Status()> watch;                          // is a rank lost?
        uint32_t start_timeout_ms = 120000;                     // of the start of NCCL
    };
    DeviceCollectives(const RankContext &self, const Topology &topology, std::unique_ptr<Gpu> gpu,
                      Host host)
        : self_(self), topology_(topology), host_(std::move(host)), gpu_(std::move(gpu)) {}
    ~DeviceCollectives();

    // The GPU that `memory` lies on; -1: ordinary memory. From any thread.
    [[nodiscard]] int device_of(const void *memory) {
        return ringrt::device_of(gpu_.get(), memory);
    }
    // On which side send and recv lie; INVALID_ARGUMENT when not on the same, UNSUPPORTED where
    // they are on a GPU that this library cannot use. Opens the GPU.
    Status memory_kind_of(const void *send, const void *recv, bool *on_gpu);
    // The program's stream, of mark() and let_wait(). From any thread.
    void set_stream(void *stream) { stream_ = stream; }
    Status mark(Gpu::Event *out) { return gpu_->mark(stream_, out); }
    Status let_wait(const Gpu::Event &event) { return gpu_->let_wait(stream_, event); }
    Status passed(const Gpu::Event &event, bool *out) { return gpu_->passed(event, out); }
    Status between(const Gpu::Event &from, const Gpu::Event &to, double *us) {
        return gpu_->between(from, to, us);
    }
    Status alloc(size_t bytes, void **out) { return gpu_->alloc(bytes, false, out); }
    void free(void *memory) {
        if (gpu_ != nullptr) gpu_->free(memory, false);
    }

    // Collective. Agrees on a way, the first time; `work` says of what. *in_stream_order: by NCCL.
    Status open(const Work &work, bool *in_stream_order);
    // Collective; returns when the sum is there. Behind `ready`.
    Status allreduce(const Work &work, const Gpu::Event &ready);
    // What was enqueued: when the library's stream came to it, and when it was over.
    struct Enqueued {
        Gpu::Event begun, ended;
    };
    // Collective, where open() said in stream order. NCCL's calls as one group, behind all of
    // `after`; returns when they are in the library's stream. No calls: only the points.
    Status enqueue(std::span<const Gpu::Call> calls, std::span<const Gpu::Event> after,
                   Enqueued *out);
    // Between what the program's stream holds and what it will be given.
    Status in_stream_order(const Gpu::Call &call);
    // The same, and returns when it is over.
    Status by_nccl(const Gpu::Call &call, const Gpu::Event &ready);
    // Whether what was enqueued goes well; *idle: all of it is over. Not collective; to be asked
    // now and then, for nobody else sees that NCCL waits for a rank that is lost.
    Status watch(bool *idle);
    [[nodiscard]] bool pending() const { return !pending_.empty(); }
    // A call has failed, here or elsewhere: streams that wait for NCCL go on.
    void give_up();
    // Returns when the bytes are there; either side may be a GPU's. Not collective.
    Status copy_now(void *out, const void *in, size_t bytes, const Gpu::Event &ready = nullptr);
    // Collective, when all is well at the end. Without it the destructor releases everything.
    Status end();
    // The process is about to end, and its peers too: all of the GPU's is left to that. NCCL asks
    // that its communicators be aborted by all ranks of a node together, or not at all.
    void leave_to_exit() {
        pending_.clear();
        (void)gpu_.release();
    }

  private:
    static constexpr const char *kByNccl = "a sum by NCCL";
    enum Route : int { Auto, Nccl, Hierarchical, Ipc, Through, kRoutes };
    struct Card;
    Status agree(const Work &work);
    Status choose(const std::vector<Card> &cards);
    Status start_nccl(const std::vector<int> &ranks, const char *phase);
    Status open_staging(size_t each, bool *all_could);
    Status with_nccl_per_node(const Work &work);
    Status with_ipc(const Work &work);
    Status through_host(const Work &work);
    Status until_entered(const char *phase);
    Status failed(Status status, const char *phase);
    Status wait(const char *phase) { return wait(phase, self_.timeout_ms); }
    Status wait(const char *phase, uint32_t timeout_ms);
    Status make(size_t bytes, bool host, void **out);
    void release();
    [[nodiscard]] std::vector<int> neighbours() const;

    const RankContext &self_;
    const Topology &topology_;
    Host host_;
    std::unique_ptr<Gpu> gpu_;  // null where there is none
    std::mutex open_mutex_;
    std::atomic<void *> stream_ = nullptr;
    std::deque<Gpu::Event> pending_;    // of enqueue(): not known to be over
    std::optional<Deadline> of_first_;  // of these
    bool opened_ = false;
    Route route_ = Auto;
    void *staging_ = nullptr, *part_ = nullptr, *bounce_ = nullptr;  // bounce_ is the host's
    std::vector<void *> mapped_;                                     // stagings by rank
};

}  // namespace ringrt
