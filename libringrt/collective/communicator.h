// SPDX-License-Identifier: BSD-3-Clause
// Communicator: the ranks of one job, and the collectives over them.
//
// Construction is cheap; start() then connects the ranks, so abort() also works during start-up.
// All ranks must call every function marked "collective" in the same order. No function exits,
// aborts or throws: each returns a ringrt_status_t, and last_error() is one line that names the
// rank, the peer and the phase. After any failure but RINGRT_INVALID_ARGUMENT and
// RINGRT_UNSUPPORTED every later call returns the same status: ranks may disagree on how far the
// failed operation got, so the communicator cannot continue.
//
// Reduction order: left to right in rank order, or the order set by RINGRT_ORDER (reduce/order.h),
// whatever the algorithm, chunk size, transport or layout. fp16 and bf16 are accumulated in fp32
// and rounded once. Results are therefore bit-identical on all ranks, from run to run, and between
// algorithms.
#pragma once

#include <atomic>
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
    bool waits = false;  // the call returns with the result; otherwise it is stream-ordered
    // A Gpu::Event: starts after it instead of after the whole stream, and waits.
    std::shared_ptr<void> behind = nullptr;
};

struct CommunicatorConfig {
    int rank = 0, size = 0;  // size 0: those of srun; outside it a single rank
    int local_rank = -1;     // as reported by local_rank(); -1: SLURM_LOCALID, or detected
    std::string node;        // ranks share a node only if this is equal; empty: node_label()
    // How the ranks find rank 0: "tcp:HOST:PORT" or the path of the rendezvous file. Empty: a file
    // in rendezvous_dir named by job id, step id and restart count.
    std::string rendezvous;
    std::string rendezvous_dir = ".";
    TextStore store;  // if set, replaces the rendezvous
    // If set, start-up uses it instead (e.g. MPI_Allgather); returns 0 on success.
    ringrt_allgather_fn allgather = nullptr;
    void *allgather_context = nullptr;
    // If set, carries messages between nodes instead of TCP. The same on all ranks.
    const ringrt_messenger_t *messenger = nullptr;
    uint32_t timeout_ms = 600000;        // of one operation
    uint32_t start_timeout_ms = 120000;  // of start()
    // Receives one-line warnings without newline (a silent peer, a rejected connection). Empty:
    // stderr.
    std::function<void(const std::string &)> warn;
    std::shared_ptr<const std::atomic<bool>> retired;  // see RankContext::retired
    std::function<void()> fault_point;                 // for tests; see RankContext::fault_point
    std::function<std::unique_ptr<Gpu>()> find_gpu;    // for tests; see gpu/gpu.h
};

// An allreduce in progress; see Communicator::start_allreduce. Destroy it before the Communicator.
class Request {
  public:
    virtual ~Request() = default;  // waits for the end of the operation
    // True when the operation has ended; *status is then its result.
    virtual bool test(ringrt_status_t *status) = 0;
    virtual ringrt_status_t wait() = 0;
};

// A message to or from one other rank. Messages with one tag between two ranks are received in the
// order in which they were sent.
struct PointToPoint {
    bool send = false;
    void *data = nullptr;  // a send only reads it
    size_t bytes = 0;      // the same on both sides
    int peer = 0, tag = 0;
};

class Communicator {
  public:
    explicit Communicator(CommunicatorConfig config);
    ~Communicator();  // does not wait for other ranks
    Communicator(const Communicator &) = delete;
    Communicator &operator=(const Communicator &) = delete;

    // Collective. Connects the ranks and detects which of them share a node.
    [[nodiscard]] ringrt_status_t start();
    // Collective. Returns when all ranks have called it, so that no rank sees another's exit as a
    // loss.
    [[nodiscard]] ringrt_status_t finish();

    // Valid after start() succeeded.
    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
    [[nodiscard]] int local_rank() const;      // the GPU to use
    [[nodiscard]] size_t connections() const;  // sockets to other ranks, for tests

    // Collective. recv[i] = op over ranks of send[i]. recv may be send; otherwise they may not
    // overlap. count is the same on all ranks and may be 0. On all ranks both buffers are in
    // ordinary memory, or both in the memory of the rank's GPU (device_collectives.h).
    //
    // GPU buffers: the reduction starts after all work in the caller's stream. With NCCL it is
    // stream-ordered: the call returns at once, and a later call returns any later error.
    // reduce_scatter() and all_gather_shares() do the same if all shares are equal and both buffers
    // are on the GPU. Otherwise they and the other collectives copy GPU buffers through host memory
    // and return with the result.
    [[nodiscard]] ringrt_status_t allreduce(const void *send, void *recv, size_t count,
                                            ringrt_dtype_t dtype, ringrt_op_t op,
                                            const OnGpu &on_gpu = {});
    // Collective. The same for root only: other ranks do not use recv. GPU buffers pass through
    // host memory.
    [[nodiscard]] ringrt_status_t reduce(const void *send, void *recv, size_t count,
                                         ringrt_dtype_t dtype, ringrt_op_t op, int root);
    // Collective. Rank r gets elements share(count, size, r) of the allreduce of `count` elements,
    // at the start of recv, which may be the share's place in send.
    [[nodiscard]] ringrt_status_t reduce_scatter(const void *send, void *recv, size_t count,
                                                 ringrt_dtype_t dtype, ringrt_op_t op,
                                                 const OnGpu &on_gpu = {});
    // Like the above, from several ranges of whole elements, `count` elements in total.
    [[nodiscard]] ringrt_status_t reduce_scatter(const Ranges &send, void *recv, size_t count,
                                                 ringrt_dtype_t dtype, ringrt_op_t op);
    // Collective. Gathers `bytes` from each rank into recv (size·bytes, in rank order).
    [[nodiscard]] ringrt_status_t all_gather(const void *send, void *recv, size_t bytes);
    [[nodiscard]] ringrt_status_t all_gather(const Ranges &send, const Ranges &recv, size_t bytes);
    // Collective. The inverse of reduce_scatter: rank r contributes share(count, size, r), and all
    // ranks get all `count` elements. send may be its place in recv.
    [[nodiscard]] ringrt_status_t all_gather_shares(const void *send, void *recv, size_t count,
                                                    ringrt_dtype_t dtype, const OnGpu &on_gpu = {});
    [[nodiscard]] ringrt_status_t broadcast(void *buffer, size_t bytes, int root);
    // Root's send to recv on all ranks. send is used at root only, and may be recv.
    [[nodiscard]] ringrt_status_t broadcast(const void *send, void *recv, size_t bytes, int root);
    [[nodiscard]] ringrt_status_t barrier();
    // Collective. all[i] = the largest mine[i] over ranks, for a few bytes in host memory, in as
    // few exchanges as a barrier. `all` may be `mine`.
    [[nodiscard]] ringrt_status_t largest(const uint8_t *mine, uint8_t *all, size_t count);
    // Collective, in host memory. A block is `count` elements. send has size() blocks; block r goes
    // to rank r. recv gets one block from each rank, in rank order.
    [[nodiscard]] ringrt_status_t all_to_all(const void *send, void *recv, size_t count,
                                             ringrt_dtype_t dtype);
    // gather: one block of each rank to root. scatter: one block of root's to each rank. The buffer
    // with all blocks is used at root only.
    [[nodiscard]] ringrt_status_t gather(const void *send, void *recv, size_t count,
                                         ringrt_dtype_t dtype, int root);
    [[nodiscard]] ringrt_status_t scatter(const void *send, void *recv, size_t count,
                                          ringrt_dtype_t dtype, int root);

    // Only the ranks that the messages name take part. All messages progress at the same time. A
    // message of this rank to itself needs its counterpart in the same call. Returns when all send
    // buffers may be overwritten and everything is received.
    [[nodiscard]] ringrt_status_t exchange(const std::vector<PointToPoint> &messages);

    // Collective; returns at once. A progress thread runs the operations in order of `priority`
    // (lowest first), then in start order. Both buffers belong to the operation until it ends. No
    // other collective may be called while requests are open.
    [[nodiscard]] ringrt_status_t start_allreduce(const void *send, void *recv, size_t count,
                                                  ringrt_dtype_t dtype, ringrt_op_t op,
                                                  int priority, std::unique_ptr<Request> *out);

    // Allocates memory that the node's other ranks can read in place, so that allreduce needs no
    // staging. Not collective. Zeroed. RINGRT_NO_MEMORY if shared memory is short.
    [[nodiscard]] ringrt_status_t alloc(size_t bytes, void **out);
    [[nodiscard]] ringrt_status_t free(void *memory);

    // Sets the stream (a CUstream, cudaStream_t) in which the caller produces GPU buffers; null,
    // the initial value: the default stream.
    [[nodiscard]] ringrt_status_t set_stream(void *stream);
    [[nodiscard]] bool on_gpu(const void *memory);
    // Not collective. Either side may be in GPU memory; after all work in the stream.
    [[nodiscard]] ringrt_status_t copy_here(void *out, const void *in, size_t bytes);
    // For points in streams; any thread may use it once on_gpu() has found a buffer.
    [[nodiscard]] DeviceCollectives &device();
    // Collective; between start() and the first buffer on a GPU. Starts NCCL if the ranks are going
    // to use it, so that the first reduction does not: DeviceCollectives::start_ahead().
    [[nodiscard]] ringrt_status_t start_nccl_ahead(int device);
    // From any thread: start_nccl_ahead() ends soon, and leaves NCCL's start to the first
    // reduction.
    void skip_nccl_ahead() noexcept;
    // The GPU with which NCCL has started; -1: none.
    [[nodiscard]] int nccl_device();
    // Whether finish() also ends what it has of a GPU.
    [[nodiscard]] bool is_on_gpu();
    // Calls body(device), serialized with all other calls. The body may call all of
    // DeviceCollectives and is collective if they are. The communicator then watches what the body
    // has enqueued.
    [[nodiscard]] ringrt_status_t with_device(
        const std::function<Status(DeviceCollectives &)> &body);

    // From any thread, also during start(): calls in progress or later return RINGRT_ABORTED, the
    // peers' calls RINGRT_PEER_LOST.
    void abort() noexcept;

    // For a process that ends right after this call, as its peers do, without waiting for one
    // another: open work on the GPU is neither finished nor aborted. No call may follow.
    void leave_to_exit() noexcept;

    // For later operations; call it after start().
    void set_timeout_ms(uint32_t timeout_ms) noexcept;

    // Returns whether a rank is lost or this one is aborted. For a caller that waits for something
    // else between two calls.
    [[nodiscard]] ringrt_status_t watch();

    // The status that every later call returns; RINGRT_OK if nothing has failed.
    [[nodiscard]] ringrt_status_t failure() const noexcept;

    // One line about the last failure; empty if there was none.
    [[nodiscard]] std::string last_error() const;
    // What a call returned, with last_error() if it failed.
    [[nodiscard]] Status outcome(ringrt_status_t code) const {
        return code == RINGRT_OK ? Status{} : Status{code, last_error()};
    }

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ringrt
