// SPDX-License-Identifier: BSD-3-Clause
// Communicator: the ranks of one job, and the collectives over them.
//
// Made cheaply, then start() meets the other ranks (so that abort() works during start-up too).
// Every function named "collective" must be called by all ranks in the same order. Nothing here
// exits, aborts or throws: the answer is a ringrt_status_t, and last_error() is one line that names
// the rank, the peer and the phase. After a failure other than RINGRT_INVALID_ARGUMENT or
// RINGRT_UNSUPPORTED every later call fails with the same status: ranks may disagree about how far
// the failed operation came, so there is no going on.
//
// Reduction order: in rank order from left to right, or RINGRT_ORDER's (reduce/order.h), whatever
// the algorithm, chunk size, transport or layout; fp16 and bf16 are accumulated in fp32, rounded
// once. So results are the same bits on all ranks, from run to run, and between algorithms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libringrt/base/share.h"
#include "libringrt/base/status.h"
#include "libringrt/bootstrap/text_store.h"
#include "libringrt/ringrt.h"
#include "libringrt/schedule/ranges.h"

namespace ringrt {

class DeviceCollectives;
class Gpu;

// Of an operation on buffers in GPU memory.
struct OnGpu {
    bool waits = false;            // returns when the result is there; else in stream order
    std::shared_ptr<void> behind;  // a Gpu::Event: only what came before it; then it waits, too
};

struct CommunicatorConfig {
    int rank = 0, size = 0;  // size 0: SLURM_PROCID, SLURM_NTASKS; outside Slurm one rank alone
    int local_rank = -1;     // as reported by local_rank(); -1: SLURM_LOCALID, else found out
    // Where rank 0 is met: "tcp:HOST:PORT" or the path of the rendezvous file. Empty: a file in
    // rendezvous_dir named after job id, step id and restart count.
    std::string rendezvous;
    std::string rendezvous_dir = ".";
    TextStore store;  // when set, rank 0 is met through it instead
    // When set, start-up goes through it instead (e.g. MPI_Allgather); 0 on success.
    ringrt_allgather_fn allgather = nullptr;
    void *allgather_context = nullptr;
    // When set, messages between nodes go through it instead of TCP. The same on all ranks.
    const ringrt_messenger_t *messenger = nullptr;
    uint32_t timeout_ms = 600000;        // of one operation
    uint32_t start_timeout_ms = 120000;  // of start()
    // Receives one-line warnings (a silent peer, a refused connection); no newline. Empty: stderr.
    std::function<void(const std::string &)> warn;
    std::function<void()> fault_point;               // for tests; see RankContext::fault_point
    std::function<std::unique_ptr<Gpu>()> find_gpu;  // for tests; see transport/gpu.h
};

// An allreduce under way; see Communicator::start_allreduce. Let go of it before the Communicator.
class Request {
  public:
    virtual ~Request() = default;  // waits for the end of the operation
    // True when it is over; then *status is how it ended.
    virtual bool test(ringrt_status_t *status) = 0;
    virtual ringrt_status_t wait() = 0;
};

// A message to or from one other rank. Those of equal tags between two ranks are received in the
// order in which they were sent.
struct PointToPoint {
    bool send = false;
    void *data = nullptr;  // only read by a send
    size_t bytes = 0;      // the same on both sides
    int peer = 0, tag = 0;
};

class Communicator {
  public:
    explicit Communicator(CommunicatorConfig config);
    ~Communicator();  // does not wait for anybody
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;

    // Collective. Meets the other ranks, finds out which share a node, connects.
    [[nodiscard]] ringrt_status_t start();
    // Collective. All ranks have come here: nobody sees another's leaving as a loss.
    [[nodiscard]] ringrt_status_t finish();

    // Valid after start() succeeded.
    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
    [[nodiscard]] int local_rank() const;  // the GPU to use

    // Collective. recv[i] = op over ranks of send[i]; recv may be send, else they may not overlap.
    // count is the same on all ranks and may be 0. On all ranks both are in ordinary memory or both
    // in the rank's GPU's (device_collectives.h). Then what the caller has put into its stream
    // comes before, and by NCCL the sum is in stream order: the call returns at once, and what goes
    // wrong later is answered by a later call. reduce_scatter() and all_gather_shares() do the same
    // where all shares are equal and both buffers are on the GPU. Otherwise they and the other
    // collectives take memory of a GPU through the host's, and return when all is there.
    [[nodiscard]] ringrt_status_t allreduce(const void *send, void *recv, size_t count,
                                            ringrt_dtype_t dtype, ringrt_op_t op,
                                            const OnGpu &on_gpu = {});
    // Collective. The same for root alone; elsewhere recv is not used. Through the host's memory.
    [[nodiscard]] ringrt_status_t reduce(const void *send, void *recv, size_t count,
                                         ringrt_dtype_t dtype, ringrt_op_t op, int root);
    // Collective. Rank r gets elements share(count, size, r) of the allreduce of `count` elements,
    // written to the start of recv. recv may not overlap send.
    [[nodiscard]] ringrt_status_t reduce_scatter(const void *send, void *recv, size_t count,
                                                 ringrt_dtype_t dtype, ringrt_op_t op,
                                                 const OnGpu &on_gpu = {});
    // The same from memory in several places, each of whole elements, of `count` elements together.
    [[nodiscard]] ringrt_status_t reduce_scatter(const Ranges &send, void *recv, size_t count,
                                                 ringrt_dtype_t dtype, ringrt_op_t op);
    // Collective. Gathers `bytes` from each rank into recv (size·bytes, in rank order).
    [[nodiscard]] ringrt_status_t all_gather(const void *send, void *recv, size_t bytes);
    [[nodiscard]] ringrt_status_t all_gather(const Ranges &send, const Ranges &recv, size_t bytes);
    // Collective. The inverse of reduce_scatter: rank r gives share(count, size, r), all get
    // `count` elements. send may be its place in recv.
    [[nodiscard]] ringrt_status_t all_gather_shares(const void *send, void *recv, size_t count,
                                                    ringrt_dtype_t dtype, const OnGpu &on_gpu = {});
    [[nodiscard]] ringrt_status_t broadcast(void *buffer, size_t bytes, int root);
    [[nodiscard]] ringrt_status_t barrier();
    // Collective, in host memory. A block is `count` elements. Of the size() blocks in send, block
    // r goes to rank r; recv has one of each rank, in rank order.
    [[nodiscard]] ringrt_status_t all_to_all(const void *send, void *recv, size_t count,
                                             ringrt_dtype_t dtype);
    // One block of each rank, to root; and one for each, from root. The other side's buffer is
    // root's alone.
    [[nodiscard]] ringrt_status_t gather(const void *send, void *recv, size_t count,
                                         ringrt_dtype_t dtype, int root);
    [[nodiscard]] ringrt_status_t scatter(const void *send, void *recv, size_t count,
                                          ringrt_dtype_t dtype, int root);

    // Of the ranks that it names alone. All messages move at the same time; each to or from this
    // rank itself has its counterpart among them. Returns when all that is sent may be written
    // again, and all that is received is there.
    [[nodiscard]] ringrt_status_t exchange(const std::vector<PointToPoint> &messages);

    // Collective, and returns at once: a progress thread takes the operations in order of
    // `priority` (lower first), then in order of starting. Both buffers belong to the operation
    // until it is over. While requests are open no other collective may be called.
    [[nodiscard]] ringrt_status_t start_allreduce(const void *send, void *recv, size_t count,
                                                  ringrt_dtype_t dtype, ringrt_op_t op,
                                                  int priority, std::unique_ptr<Request> *out);

    // Memory that the node's other ranks can read in place: allreduce needs no staging for it. Not
    // collective. RINGRT_NO_MEMORY where shared memory is short. Contents start as zero.
    [[nodiscard]] ringrt_status_t alloc(size_t bytes, void **out);
    [[nodiscard]] ringrt_status_t free(void *memory);

    // The stream (a CUstream, cudaStream_t) in which the caller makes what is summed in GPU memory;
    // null, as at first: the default stream.
    [[nodiscard]] ringrt_status_t set_stream(void *stream);
    [[nodiscard]] bool on_gpu(const void *memory);
    // Points in streams, from any thread, once a buffer was found to be the GPU's.
    [[nodiscard]] DeviceCollectives &device();
    // body(device), one at a time with all other calls; it may call all of DeviceCollectives, and
    // is collective where that is. What it enqueues is looked after from then on.
    [[nodiscard]] ringrt_status_t with_device(
        const std::function<Status(DeviceCollectives &)> &body);

    // From any thread, also during start(): calls under way or to come return RINGRT_ABORTED, the
    // peers' calls RINGRT_PEER_LOST.
    void abort() noexcept;

    // The process ends after this, and so do its peers, none waiting for another: what is open on
    // the GPU is neither finished nor aborted. No call may follow.
    void leave_to_exit() noexcept;

    // Of the operations from now on; after start().
    void set_timeout_ms(uint32_t timeout_ms) noexcept;

    // Is a rank lost, or this one aborted? For who waits for something else, between two calls.
    [[nodiscard]] ringrt_status_t watch();

    // What every later call answers; ok: nothing has failed.
    [[nodiscard]] ringrt_status_t failure() const noexcept;

    // One line about the last failure; empty when there was none.
    [[nodiscard]] std::string last_error() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ringrt
