// SPDX-License-Identifier: BSD-3-Clause
// Transport: messages between the ranks of one job. Knows nothing of sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "libringrt/base/status.h"

namespace ringrt {

// The collective operation under way. It travels with every message, so that ranks that called
// different operations find out at the first one.
struct OpHeader {
    uint32_t number = 0;  // of the operation, counted from the start of the job
    uint8_t kind = 0;     // OpKind
    uint8_t dtype = 0, op = 0;
    uint8_t detail = 0;  // a broadcast's root (its low bits); how a sum is made (Choice::code)
    uint64_t count = 0;  // elements or bytes
    // Of the calls on GPUs before it, which exchange no header: how many, and a hash of what.
    uint32_t gpu_calls = 0, gpu_hash = 0;

    bool operator==(const OpHeader &) const = default;
};

enum OpKind : uint8_t {
    kAllreduce = 1,
    kReduceScatter,
    kAllGather,
    kAllGatherShares,
    kBroadcast,
    kBarrier,
    kFinish,
    kDeviceAllreduce,
    kAllToAll,
    kGather,
    kScatter,
    kPointToPoint  // sends and receives between two ranks; number is of the last collective
};

// "allreduce of 1000 float32 with sum", for messages.
[[nodiscard]] std::string describe(const OpHeader &call);

// One message within an operation, found at the receiver by (segment, slot). The pieces and the
// Message itself stay where they are until done.
struct Message {
    int peer = 0;
    uint32_t segment = 0;
    uint32_t slot = 0;
    std::vector<std::span<std::byte>> pieces;  // read by a send, written by a receive
    bool done = true;

    [[nodiscard]] size_t bytes() const {
        size_t sum = 0;
        for (const auto &piece : pieces) sum += piece.size();
        return sum;
    }
};

class Deadline;

class Transport {
  public:
    virtual ~Transport() = default;
    // All messages until the next begin() belong to `call`.
    virtual void begin(const OpHeader &call) = 0;
    // Queue a message; `done` becomes true during progress() (or at once). Messages to one peer may
    // be received in any order of (segment, slot); the receiver must have at most those of its
    // active segments outstanding (see executor.h).
    virtual Status send(Message *message) = 0;
    virtual Status receive(Message *message) = 0;
    // Moves what can be moved. When nothing can, sleeps for up to `sleep_ms` and looks again. Not
    // ok when a peer of the job is lost, whether or not it is waited for.
    virtual Status progress(int sleep_ms, bool *moved) = 0;
    // Called while nothing moves: this rank waits for `peer` (-1: for whatever is outstanding
    // here). Tells the other ranks so about once a second. *blame is the rank at the end of the
    // chain of waiting ranks, the one that is silent; -1 where nothing is outstanding.
    virtual Status waiting(int peer, int *blame) = 0;
    // Sends the abort notice to all peers, without waiting long for any: this rank stops, and
    // `failed_rank` is why (-1: none, the job is done). After a failure, call it while the messages
    // of the operation still exist. Only the first call has an effect.
    virtual void notify_abort(int failed_rank, const Status &why) = 0;
};

// Carries an operation over `transport` out; the peers hear of a failure while its messages stand.
template <class Body>
Status concluded(int own_rank, Transport *transport, Body body) {
    Status status;
    try {
        status = body();
    } catch (const std::bad_alloc &) {
        status = {RINGRT_NO_MEMORY, format_text("rank %d: out of memory", own_rank)};
    }
    if (!status.ok())
        transport->notify_abort(status.failed_rank < 0 ? own_rank : status.failed_rank, status);
    return status;
}

}  // namespace ringrt
