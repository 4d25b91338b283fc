// SPDX-License-Identifier: BSD-3-Clause
// The implementation of make_tcp(). tcp.cpp sends messages, and sleeps; tcp_receive.cpp receives;
// tcp_peers.cpp makes connections and sends the abort notice.
#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "libringrt/base/closed_in_children.h"
#include "libringrt/transport/early_messages.h"
#include "libringrt/transport/frame.h"
#include "libringrt/transport/tcp.h"

namespace ringrt {

inline constexpr size_t kBufferBytes = 64 << 10;  // one read takes many small frames
inline constexpr size_t kPiecesMax = 64;          // per system call
// Time for peers to take the rest of a message and the abort notice after it.
inline constexpr auto kSettle = std::chrono::seconds(1);
inline constexpr auto kLookAtAll = std::chrono::milliseconds(1);  // at peers that are not awaited
inline constexpr int kLookMs = 5;  // how often to check that the peer's host has it

// `pieces` without their first `skip` bytes, at most `room` of them.
inline size_t fill_pieces(const std::vector<std::span<std::byte>> &pieces, size_t skip, iovec *out,
                          size_t room) {
    size_t used = 0;
    for (const auto &piece : pieces) {
        if (skip >= piece.size()) {
            skip -= piece.size();
            continue;
        }
        if (used == room) break;
        out[used++] = {.iov_base = piece.data() + skip, .iov_len = piece.size() - skip};
        skip = 0;
    }
    return used;
}

// A rank that this one exchanges messages with.
struct TcpPeer {
    explicit TcpPeer(int number) : rank(number) {}
    const int rank;
    Fd fd;  // invalid until it is connected
    // Sending: `sent` bytes of the first message have left, including its frame.
    struct Outgoing {
        Message *message;
        Frame frame;
        size_t total;
    };
    std::deque<Outgoing> outgoing;
    size_t sent = 0;
    // Receiving: bytes [begin, end) of the buffer are not processed yet.
    std::unique_ptr<std::byte[]> buffer;  // not initialized: only what is received uses memory
    size_t begin = 0, end = 0;
    std::vector<Message *> expected;
    Frame frame;
    bool in_frame = false;        // `frame` is read, its payload not completely
    bool held = false;            // its message is not expected yet
    Message *incoming = nullptr;  // of a data frame
    size_t taken = 0;             // bytes of the payload received
    EarlyMessages early;
    AbortNotice notice;
    bool gone = false;  // finished normally
    int error = 0;      // errno of its connection's first failure, which later calls do not repeat
    size_t notice_sent = 0;  // bytes of our own abort notice sent
    Message waiting;         // a kWaiting frame in progress, unless done

    [[nodiscard]] bool connected() const { return fd.valid(); }
    // Its next bytes may finish a message that this rank waits for.
    [[nodiscard]] bool is_awaited() const { return !expected.empty() || (in_frame && !held); }
};

class Tcp : public Transport {
  public:
    Tcp(const RankContext &self, std::unique_ptr<Connections> connections, LossCheck on_node);
    void begin(const OpHeader &call) override { call_ = call; }
    Status send(Message *message) override;
    Status receive(Message *message) override;
    Status progress(int sleep_ms, bool *moved) override;
    Status waiting(int peer, int *blame) override;
    void notify_abort(int failed_rank, const Status &why) override;
    [[nodiscard]] size_t connections() const override;

  private:
    // The peer, which is connected from now on or soon.
    Status reach(int rank, TcpPeer **out);
    TcpPeer &peer_of(int rank);
    Status connect(bool *moved);
    void adopt(TcpPeer &peer, Fd fd);
    Status push(TcpPeer &peer, bool *moved);
    enum class Until : uint8_t { Short, Empty };  // a short read saves a call that finds nothing
    Status pull(TcpPeer &peer, bool *moved, Until until = Until::Short);
    Status take(TcpPeer &peer, bool *moved);
    Status open_frame(TcpPeer &peer);
    Status close_frame(TcpPeer &peer);
    Status find_message(TcpPeer &peer);
    Status queue(TcpPeer &peer, Message *message, const Frame &frame, bool *moved);
    Status tell_waiting(int peer, int blame);
    Status lost(const TcpPeer &peer, const char *why) const {
        return peer_lost(self_, peer.rank, why, call_);
    }
    Status connection_ended(TcpPeer &peer, bool in_order, const char *why);
    bool send_notice(TcpPeer &peer, std::span<const std::byte> notice);
    Status sleep(int sleep_ms);
    Status look_at_all(int sleep_ms, bool *moved);
    int first_outstanding() const;

    const RankContext &self_;
    std::unique_ptr<Connections> connections_;
    const LossCheck on_node_;
    std::vector<std::unique_ptr<TcpPeer>> known_;  // by rank; null: no message yet
    std::vector<TcpPeer *> peers_;                 // those of known_, in rank order
    std::vector<pollfd> polled_;                   // those of peers_, then connections_'s
    std::vector<Connections::Made> made_;
    Clock::time_point looked_at_all_{};
    OpHeader call_;
    WaitChain wait_chain_;
    // This rank is about to stop: data that is not expected yet is dropped, because an abort notice
    // with the reason may follow it.
    bool suspects_failure_ = false;
    bool sent_notice_ = false;
    ClosedInChildren closed_in_children_;
};

}  // namespace ringrt
