// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Communicator: communicator.cpp checks arguments, operations.cpp executes
// operations, start.cpp has the start-up.
#pragma once

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "libringrt/base/fork_guard.h"
#include "libringrt/bootstrap/topology.h"
#include "libringrt/collective/communicator.h"
#include "libringrt/collective/gpu_watch.h"
#include "libringrt/collective/progress.h"
#include "libringrt/gpu/device_collectives.h"
#include "libringrt/schedule/by_nodes.h"
#include "libringrt/schedule/choice.h"
#include "libringrt/schedule/executor.h"
#include "libringrt/shm/shm_collectives.h"
#include "libringrt/shm/shm_messages.h"

namespace ringrt {

struct Communicator::Impl {
    CommunicatorConfig config;
    RankContext self;
    Topology topology;
    int local_rank = 0, local_size = 1;
    ForkGuard guard;
    bool started = false;
    std::unique_ptr<ShmSegment> memory;         // null if this rank is alone on its node
    std::unique_ptr<ShmCollectives> node;       // uses `memory`
    std::unique_ptr<Transport> transport;       // null if all ranks share one node
    std::unique_ptr<ShmMessages> shm_messages;  // only on one node; created at first use
    bool by_rails = false;  // nodes of equal size, several ranks each (hierarchical.h)
    CostModel costs;        // of the transport; the same on all ranks
    Choice choice;
    int ranks_per_node = 1;                     // on the fullest node
    std::unique_ptr<DeviceCollectives> device;  // for GPU buffers
    OpHeader last_barrier_op;                   // of the last meeting for GPU buffers
    std::atomic<bool> skips_nccl_ahead{false};
    uint32_t calls = 0, gpu_calls = 0, gpu_hash = 0;
    struct Release {
        void operator()(void *each) const { ::free(each); }
    };
    std::map<void *, std::unique_ptr<void, Release>> allocated;  // for a rank alone on its node
    std::mutex call_mutex;                                       // held during a call
    std::mutex start_mutex;  // held during a call that only starts something
    // The final failure. Calls that start something read it while an operation of the progress
    // thread may set it.
    std::atomic<ringrt_status_t> failure{RINGRT_OK};
    mutable std::mutex line_mutex;
    std::string line;
    std::unique_ptr<Progress> progress;   // its thread uses all members above
    std::unique_ptr<GpuWatch> gpu_watch;  // likewise

    Status start();
    OpHeader next_op(OpKind kind, const Work &work, uint64_t count, int root = 0);
    void note_gpu_calls(std::span<const Gpu::Call> made);
    [[nodiscard]] bool one_node() const;
    Status allreduce(Work work);
    Status allreduce_on_rail(Work work);
    Status alloc_alone(size_t bytes, void **out);
    Status gather_all(const void *mine, void *all, size_t bytes);
    [[nodiscard]] std::unique_ptr<DeviceCollectives> make_device();
    Status watch(const OpHeader &call);  // fails if a rank is lost
    Status sum_on_gpu(const Work &work, const OnGpu &how);
    // *done only if both buffers are on the GPU, the shares are equal, and the route is NCCL.
    Status shares_by_nccl(const Work &work, Gpu::Call call, const OnGpu &how, bool *done);
    Status call_nccl(const Gpu::Call &call, const OnGpu &how);
    void watch_gpu();
    bool look_at_gpu();
    // Executes a schedule of by_nodes.h.
    Status run_by_nodes(const Work &work, const OpHeader &call, const Schedule &schedule);
    Status meet(const OpHeader &call);  // a barrier
    Status largest(const void *mine, void *all, size_t count);
    // The order of a reduce-scatter. It may not depend on an element's place in the buffer, because
    // the plan decides in which buffer a gradient travels.
    [[nodiscard]] Order order_of_shares() const {
        return choice.order == Order::Tree ? Order::Tree : Order::Rank;
    }
    [[nodiscard]] NodeShape shape() const {
        return {.nodes = topology.nodes, .local = local_size, .aggregated = aggregates()};
    }
    // Whether the node's shared memory has room for a segment's blocks of all ranks.
    [[nodiscard]] bool has_room_by_nodes() const;
    // Exchanges by nodes pass the blocks of many nodes in one message: there are many nodes, or
    // messages of single blocks would be too small.
    [[nodiscard]] bool aggregates() const;
    // Distributes each rank's block (work.only_input_block) to all ranks.
    Status all_gather(const Work &work, const OpHeader &call);
    Status broadcast(const Work &work, const OpHeader &call, int root);
    // Calls body(send, recv), through host memory if a buffer is in GPU memory.
    template <class Body>
    Status in_host_memory(const void *send, size_t send_bytes, void *recv, size_t recv_bytes,
                          Body body);
    // With a single rank: copies `in` to `out` and returns true.
    [[nodiscard]] bool alone(void *out, const void *in, size_t bytes) const;
    Status reduce_scatter(Work work);  // recv gets this rank's share
    Status barrier(OpKind kind);
    Status exchange(std::vector<PointToPoint> messages);
    Status move_blocks(OpKind kind, const void *send, void *recv, size_t count,
                       ringrt_dtype_t dtype, int root);
    Status identify();
    Status connect(Deadline *deadline);
    void count_local_ranks();
    Status measure();
    Status measure_links(double *barrier_s);
    Status measure_many(double *barrier_s);
    // The forced schedule, or else the cheapest between `ranks` that adds in the chosen order.
    [[nodiscard]] Schedule schedule_for(const Work &work, int rank, int ranks, int per_node) const;
    ringrt_status_t answer(Status status);
    // Whether the progress thread may be running meanwhile.
    enum Beside : bool { kAlone, kBesideRequests };
    template <class Body>
    ringrt_status_t guarded(Body body, Beside beside = kAlone);
};

template <class Body>
ringrt_status_t Communicator::Impl::guarded(Body body, Beside beside) {
    if (guard.in_child()) {
        return answer({RINGRT_FORKED,
                       "this handle belongs to the process that made it; a forked child "
                       "cannot use it"});
    }
    std::unique_lock lock(beside == kAlone ? call_mutex : start_mutex);
    try {
        if (ringrt_status_t before = failure; before != RINGRT_OK) return before;
        if (beside == kAlone && progress != nullptr && !progress->may_call()) {
            return answer(
                {RINGRT_INVALID_ARGUMENT,
                 format_text("rank %d: wait for the started operations before calling another",
                             self.rank)});
        }
        if (self.aborted) {
            return answer({RINGRT_ABORTED, format_text("rank %d: aborted", self.rank), self.rank});
        }
        return answer(body());
    } catch (const std::bad_alloc &) {
        return answer({RINGRT_NO_MEMORY, format_text("rank %d: out of memory", self.rank)});
    } catch (const std::exception &e) {
        return answer({RINGRT_SYSTEM_ERROR, format_text("rank %d: %s", self.rank, e.what())});
    }
}

template <class Body>
Status Communicator::Impl::in_host_memory(const void *send, size_t send_bytes, void *recv,
                                          size_t recv_bytes, Body body) {
    bool from_gpu = send_bytes > 0 && device->device_of(send) >= 0;
    bool to_gpu = recv_bytes > 0 && device->device_of(recv) >= 0;
    if (!from_gpu && !to_gpu) return body(send, recv);
    bool ignored = false;
    RINGRT_TRY(device->memory_kind_of(from_gpu ? send : recv, from_gpu ? send : recv, &ignored));
    std::vector<std::byte> in(from_gpu ? send_bytes : 0), out(to_gpu ? recv_bytes : 0);
    // After all work in the caller's stream: it produces send, and may still read recv.
    Gpu::Event ready;
    RINGRT_TRY(device->mark(&ready));
    if (from_gpu) RINGRT_TRY(device->copy_now(in.data(), send, send_bytes, ready));
    RINGRT_TRY(body(from_gpu ? in.data() : send, to_gpu ? out.data() : recv));
    return to_gpu ? device->copy_now(recv, out.data(), recv_bytes, ready) : Status{};
}

}  // namespace ringrt
