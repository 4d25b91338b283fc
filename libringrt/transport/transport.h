// SPDX-License-Identifier: BSD-3-Clause
// Transport: messages between the ranks of one job. Independent of reductions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "libringrt/base/status.h"

namespace ringrt {

// The current collective operation. It is part of every message, so that ranks that call different
// operations detect it at the first message.
struct OpHeader {
    uint32_t number = 0;  // of the operation, counted from the job's start
    uint8_t kind = 0;     // OpKind
    uint8_t dtype = 0, op = 0;
    uint8_t detail = 0;  // a broadcast's root (low bits); Choice::code of a reduction
    uint64_t count = 0;  // elements or bytes
    // The earlier GPU calls, which exchange no header: their number and a hash of their arguments.
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
    kLargest,
    kPointToPoint  // sends and receives between two ranks; `number` is that of the last collective
};

// "allreduce of 1000 float32 (sum)", for messages.
[[nodiscard]] std::string describe(const OpHeader &call);

// One message within an operation, matched at the receiver by (segment, slot). The pieces and the
// Message itself must stay in place until done.
struct Message {
    int peer = 0;
    uint32_t segment = 0;
    uint32_t slot = 0;
    std::vector<std::span<std::byte>> pieces;  // a send reads them, a receive writes them
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
    // Queues a message; `done` becomes true during progress() (or at once). Messages to one peer
    // may be received in any order of (segment, slot). The receiver must have at most those of its
    // active segments outstanding (see executor.h).
    virtual Status send(Message *message) = 0;
    virtual Status receive(Message *message) = 0;
    // Makes all possible progress. If there is none, sleeps for up to `sleep_ms` and tries again.
    // Fails if a peer that this rank is connected to is lost, whether or not it is waited for.
    virtual Status progress(int sleep_ms, bool *moved) = 0;
    // Called while nothing progresses: this rank waits for `peer` (-1: for whatever is
    // outstanding). Reports this to its peers about once a second. *blame is the silent rank at the
    // end of the chain of waiting ranks; -1 if nothing is outstanding.
    virtual Status waiting(int peer, int *blame) = 0;
    // Sends the abort notice to all peers, without waiting long for any: this rank stops because of
    // `failed_rank` (-1: none, the job is done). After a failure, call it while the operation's
    // messages still exist. Only the first call has an effect.
    virtual void notify_abort(int failed_rank, const Status &why) = 0;
    // How many peers this rank has a connection to.
    [[nodiscard]] virtual size_t connections() const { return 0; }
};

// Executes an operation over `transport`. Notifies the peers of a failure while the operation's
// messages still exist.
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
