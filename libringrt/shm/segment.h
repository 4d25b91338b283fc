// SPDX-License-Identifier: BSD-3-Clause
// ShmSegment: the memory that the ranks of one node share, and how they wait for each other in it.
//
// One file in /dev/shm, mapped by all and unlinked as soon as all have, so that nothing is left
// whatever happens to them. It holds, for chunks numbered from the start of the job (chunk k lives
// in slot k % slots):
//   boards     per rank, what it shows: how far it has come, its call, whether it sleeps
//   staging    per rank and slot, where it shows its data; its own memory, so near its core
//   results    per slot, where reduced data is left for all
//   heap       per rank, for alloc(): any rank can read and write it in place
// Each rank holds a POSIX lock on its own byte of the file: the kernel lets it go when the process
// dies, however, and not when a forked child does.
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

// What one rank shows to the others, in lines of their own by who writes them when.
struct ControlBlock {
    // Looked at in every operation: a gate of chunk k is open when all ranks' counter is above k.
    // A call is overwritten two calls later, when all have passed a gate of the one between.
    alignas(64) std::atomic<uint64_t> arrived[2];  // by GateKind: one past the last chunk
    OpHeader calls[2];                             // by number % 2
    // Set by this rank while it sleeps, cleared by whoever wakes it.
    alignas(64) std::atomic<uint32_t> asleep;
    std::atomic<uint32_t> wanted_kind;
    std::atomic<uint64_t> wanted_chunk;
    struct Place {
        uint64_t send, recv;  // offsets in the file, kPrivate where elsewhere
    };
    alignas(64) Place places[2];   // by number % 2
    alignas(64) uint64_t process;  // tells ranks of one process (threads) from others
    std::atomic<uint32_t> left;    // gone in peace
    std::atomic<uint32_t> notice;  // 1: the fields below tell why it goes
    int32_t failed_rank;
    char line[248];
    cpu_set_t cores;  // that it may run on
    // Of messages between two ranks (shm_messages.h): set while this rank sleeps until one moves.
    alignas(64) std::atomic<uint32_t> asleep_for_message;
};
inline constexpr uint64_t kPrivate = ~uint64_t{0};

class ShmSegment {
  public:
    struct Shape {
        uint32_t slots = 4;
        size_t chunk_bytes = 0;  // of one rank's staging of one slot
        size_t heap_bytes = 0;   // per rank, address space only
    };
    enum GateKind : uint8_t { Staged = 0, Reduced = 1 };

    ~ShmSegment();
    // By the first rank of the node: makes the file, named *name.
    static Status create(const RankContext &self, const std::vector<int> &ranks, const Shape &shape,
                         std::string *name, std::unique_ptr<ShmSegment> *out);
    // By the others.
    static Status join(const RankContext &self, const std::vector<int> &ranks, const Shape &shape,
                       const std::string &name, std::unique_ptr<ShmSegment> *out);
    void unlink();  // once all have joined, or somebody could not

    [[nodiscard]] int index() const { return index_; }  // of this rank among the node's
    [[nodiscard]] int count() const { return int(ranks_.size()); }
    [[nodiscard]] int rank_at(int index) const { return ranks_[size_t(index)]; }
    [[nodiscard]] const Shape &shape() const { return shape_; }
    [[nodiscard]] std::byte *staging(int index, uint64_t chunk) const;
    [[nodiscard]] std::byte *results(uint64_t chunk) const;
    [[nodiscard]] ControlBlock &board(int index) const;

    // Where the ring of messages from one rank to another lies, as an offset; 0: not made yet.
    [[nodiscard]] std::atomic<uint64_t> &ring(int from, int to) const;

    // More ranks than cores: who spins may keep others from running.
    [[nodiscard]] bool oversubscribed() const { return crowded_; }
    // Once all have joined.
    void count_cores();

    // Shows this rank's call, and where its buffers lie, to those who pass the next gate.
    void publish_op(const OpHeader &call, const void *send = nullptr, const void *recv = nullptr,
                    size_t bytes = 0);
    // After a gate of that call's first chunk: do all make the same call?
    Status compare(const OpHeader &call) const;

    // A rank arrives at the gates of one kind in the order of their chunks.
    void arrive(GateKind kind, uint64_t chunk);
    // The same for who waits at a gate next: sleepers are woken only then, off the fast path.
    void arrive_and_wait_soon(GateKind kind, uint64_t chunk);
    [[nodiscard]] bool is_open(GateKind kind, uint64_t chunk) const;
    Status wait(GateKind kind, uint64_t chunk, const OpHeader &call);
    // Sleeps for at most sleep_ms, or until the gate opens.
    void sleep_at_gate(GateKind kind, uint64_t chunk, int sleep_ms);
    // Are all ranks of the node alive, and has nobody sent an abort notice?
    Status check_peers(const OpHeader &call) const;
    // A rank that has not arrived yet.
    [[nodiscard]] int waiting_for(GateKind kind, uint64_t chunk) const;

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
    bool spin(GateKind kind, uint64_t chunk);  // whether it is open at the end
    [[nodiscard]] size_t control_bytes() const;
    [[nodiscard]] size_t boards_bytes() const;
    [[nodiscard]] size_t fixed_bytes() const;    // all but the heaps
    [[nodiscard]] size_t heap(int index) const;  // where it begins in the file

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
