// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks of a node: a Transport with a ring of slots in the sender's heap,
// created for each pair that communicates. Only for sends and receives (kPointToPoint) if all ranks
// share one node. The segment reports failures.
#pragma once

#include <deque>
#include <vector>

#include "libringrt/shm/segment.h"
#include "libringrt/transport/early_messages.h"

namespace ringrt {

class ShmMessages : public Transport {
  public:
    ShmMessages(const RankContext &self, ShmSegment &memory)
        : self_(self), memory_(memory), peers_(size_t(memory.count())) {}

    void begin(const OpHeader &call) override { call_ = call; }
    Status send(Message *message) override;
    Status receive(Message *message) override;
    Status progress(int sleep_ms, bool *moved) override;
    Status waiting(int peer, int *blame) override;
    void notify_abort(int failed_rank, const Status &why) override;

  private:
    struct Ring;
    struct Peer {
        Ring *out = nullptr, *in = nullptr;
        std::deque<Message *> outgoing;
        size_t sent = 0;  // bytes of the first message
        std::vector<Message *> expected;
        Message *incoming = nullptr;
        size_t taken = 0;  // its bytes received so far
        EarlyMessages early;
    };
    Status make_ring(int rank);
    void push(int rank, bool *moved);
    Status pull(int rank, bool *moved);
    Status begin_message(int rank, uint32_t slot, uint64_t bytes);
    Status pass_all(bool *moved);
    void wake(int rank) const;
    void sleep(int sleep_ms, bool *moved, Status *met);

    const RankContext &self_;
    ShmSegment &memory_;
    std::vector<Peer> peers_;  // by index, which equals the rank
    OpHeader call_;
};

}  // namespace ringrt
