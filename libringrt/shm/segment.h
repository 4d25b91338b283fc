// SPDX-License-Identifier: BSD-3-Clause
// ShmSegment: the memory that the ranks of one node share, and how they wait for each other in it.
//
// One file in /dev/shm, mapped by all ranks and unlinked once all have mapped it, so that no crash
// leaves it behind. Chunks are numbered from the start of the job; chunk k uses slot k % slots. The
// file holds:
//   boards     per rank, its state: progress, current call, whether it sleeps
//   staging    per rank and slot, the data it shows; in its own memory, near its core
//   results    per slot, reduced data for all ranks
//   heap       per rank, for alloc(): any rank can read and write it in place
// Each rank holds a POSIX lock on its own byte of the file. The kernel releases it when the process
// dies in any way, and not when a forked child dies.
#pragma once

#include <sched.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "libringrt/base/deadline.h"
#include "libringrt/base/socket.h"
#include "libringrt/transport/transport.h"

namespace ringrt {

inline constexpr uint32_t kSlotsMax = 8;

// What one rank shows to the others. Fields are in separate cache lines by writer and time of
// writing.
struct ControlBlock {
    // Read in every operation: a gate of chunk k is open when all ranks' counters are above k. A
    // call is overwritten two calls later, when all ranks have passed a gate of the call in
    // between.
    alignas(64) std::atomic<uint64_t> arrived[2];  // by GateKind: one past the last chunk
    OpHeader calls[2];                             // by number % 2
    // Set by this rank while it sleeps, cleared by the rank that wakes it.
    alignas(64) std::atomic<uint32_t> asleep;
    std::atomic<uint32_t> wanted_kind;
    std::atomic<uint64_t> wanted_chunk;
    struct Place {
        uint64_t send, recv;  // offsets in the file; kPrivate if not in it
    };
    alignas(64) Place places[2];   // by number % 2
    alignas(64) uint64_t process;  // distinguishes threads of one process from other processes
    std::atomic<uint32_t> left;    // exited without failure
    std::atomic<uint32_t> notice;  // 1: the fields below hold the reason for its exit
    int32_t failed_rank;
    char line[248];
    cpu_set_t cores;  // its CPU affinity
    // For messages between two ranks (shm_messages.h): set while this rank sleeps until one
    // progresses.
    alignas(64) std::atomic<uint32_t> asleep_for_message;
    // While it waits for long: the rank that it blames, and when it said so (monotonic clock).
    std::atomic<int32_t> blames;
    std::atomic<int64_t> blames_since_ms;
};
inline constexpr uint64_t kPrivate = ~uint64_t{0};

class ShmSegment {
  public:
    struct Shape {
        uint32_t slots = 4;
        size_t chunk_bytes = 0;  // of one rank's staging in one slot
        size_t heap_bytes = 0;   // per rank, address space only
    };
    enum GateKind : uint8_t { Staged = 0, Reduced = 1 };

    ~ShmSegment();
    // Called by the first rank of the node: creates the file and returns its name.
    static Status create(const RankContext &self, const std::vector<int> &ranks, const Shape &shape,
                         std::string *name, std::unique_ptr<ShmSegment> *out);
    // Called by the others.
    static Status join(const RankContext &self, const std::vector<int> &ranks, const Shape &shape,
                       const std::string &name, std::unique_ptr<ShmSegment> *out);
    void unlink();  // called once all have joined, or a rank could not

    [[nodiscard]] int index() const { return index_; }  // of this rank within the node
    [[nodiscard]] int count() const { return int(ranks_.size()); }
    [[nodiscard]] int rank_at(int index) const { return ranks_[size_t(index)]; }
    [[nodiscard]] const Shape &shape() const { return shape_; }
    [[nodiscard]] std::byte *staging(int index, uint64_t chunk) const;
    [[nodiscard]] std::byte *results(uint64_t chunk) const;
    [[nodiscard]] ControlBlock &control_block(int index) const;

    // The offset of the ring of messages from one rank to another; 0: not created yet.
    [[nodiscard]] std::atomic<uint64_t> &ring(int from, int to) const;

    // More ranks than cores: a rank that spins may keep others from running.
    [[nodiscard]] bool oversubscribed() const { return crowded_; }
    // Call it once all ranks have joined.
    void count_cores();

    // Shows this rank's call and the offsets of its buffers to the ranks that pass the next gate.
    void publish_op(const OpHeader &call, const void *send = nullptr, const void *recv = nullptr,
                    size_t bytes = 0);
    // Call it after a gate of the call's first chunk; checks that all ranks make the same call.
    Status compare(const OpHeader &call) const;

    // A rank must arrive at the gates of one kind in chunk order.
    void arrive(GateKind kind, uint64_t chunk);
    // For a rank that waits at a gate next: it wakes sleepers only then, off the fast path.
    void arrive_and_wait_soon(GateKind kind, uint64_t chunk);
    [[nodiscard]] bool is_open(GateKind kind, uint64_t chunk) const;
    Status wait(GateKind kind, uint64_t chunk, const OpHeader &call);
    // Sleeps for at most sleep_ms, or until the gate opens.
    void sleep_at_gate(GateKind kind, uint64_t chunk, int sleep_ms);
    // Checks that all ranks of the node are alive and none has sent an abort notice.
    Status check_peers(const OpHeader &call) const;
    // Returns a rank that has not arrived yet.
    [[nodiscard]] int waiting_for(GateKind kind, uint64_t chunk) const;

    // The node's part of the WaitChain (transport/frame.h): a rank that waits for another node has
    // no connection to the ranks of its own node that wait for it.
    void tell_waiting(int blame);
    [[nodiscard]] int blame(int rank) const;  // whom to blame for waiting for this rank

    void notify_abort(int failed_rank, const Status &why);

    // The heap; see Communicator::alloc. Thread-safe.
    Status alloc(size_t bytes, void **out);
    Status free(void *memory);
    // Offset in the file of [memory, memory + bytes), or kPrivate.
    [[nodiscard]] uint64_t offset_of(const void *memory, size_t bytes) const;
    [[nodiscard]] std::byte *at(uint64_t offset) const { return base_ + offset; }

  private:
    ShmSegment(const RankContext &self, const std::vector<int> &ranks, const Shape &shape);
    Status map(Fd fd);
    Status take_lock();
    Status reserve(size_t first, size_t bytes);
    void wake_sleepers();
    bool spin(GateKind kind, uint64_t chunk);  // returns whether the gate is open
    [[nodiscard]] size_t control_bytes() const;
    [[nodiscard]] size_t boards_bytes() const;
    [[nodiscard]] size_t fixed_bytes() const;    // everything but the heaps
    [[nodiscard]] size_t heap(int index) const;  // its offset in the file

    const RankContext &self_;
    std::vector<int> ranks_;
    Shape shape_;
    int index_ = 0;
    bool crowded_ = false, wake_due_ = false;
    Fd fd_;
    std::string path_;  // empty once unlinked
    std::byte *base_ = nullptr;
    size_t bytes_ = 0;
    std::mutex heap_mutex_;
    struct Range {
        size_t first, bytes;
    };
    std::vector<Range> used_;  // of this rank's heap, ascending
};

}  // namespace ringrt
