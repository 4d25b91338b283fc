// SPDX-License-Identifier: BSD-3-Clause
// The implementation of make_tcp(): one connection to each peer. tcp.cpp sends messages and the
// abort notice, and sleeps; tcp_receive.cpp receives.
#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <deque>
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

// One connection.
struct TcpPeer {
    Fd fd;
    // Sending: `sent` bytes of the first message have left, including its frame.
    struct Outgoing {
        Message *message;
        Frame frame;
        size_t total;
    };
    std::deque<Outgoing> outgoing;
    size_t sent = 0;
    // Receiving: bytes [begin, end) of the buffer are not processed yet.
    std::vector<std::byte> buffer;
    size_t begin = 0, end = 0;
    std::vector<Message *> expected;
    Frame frame;
    bool in_frame = false;        // `frame` is read, its payload not completely
    bool held = false;            // its message is not expected yet
    Message *incoming = nullptr;  // of a data frame
    size_t taken = 0;             // bytes of the payload received
    EarlyMessages early;
    AbortNotice notice;
    bool gone = false;       // finished normally
    size_t notice_sent = 0;  // bytes of our own abort notice sent
    Message waiting;         // a kWaiting frame in progress, unless done

    // Its next bytes may finish a message that this rank waits for.
    [[nodiscard]] bool is_awaited() const { return !expected.empty() || (in_frame && !held); }
};

class Tcp : public Transport {
  public:
    Tcp(const RankContext &self, std::vector<Fd> fds);
    void begin(const OpHeader &call) override { call_ = call; }
    Status send(Message *message) override;
    Status receive(Message *message) override;
    Status progress(int sleep_ms, bool *moved) override;
    Status waiting(int peer, int *blame) override;
    void notify_abort(int failed_rank, const Status &why) override;

  private:
    Status push(int rank, bool *moved);
    Status pull(int rank, bool *moved);
    Status take(int rank, bool *moved);
    Status open_frame(int rank);
    Status close_frame(int rank);
    Status find_message(int rank);
    Status queue(Message *message, const Frame &frame, bool *moved);
    Status tell_waiting(int waits_for);
    Status lost(int rank, const char *why) const { return peer_lost(self_, rank, why, call_); }
    Status connection_ended(int rank, bool in_order, const char *why);
    bool send_notice(int rank, std::span<const std::byte> notice);
    Status sleep(int sleep_ms);
    Status look_at_all(int sleep_ms, bool *moved);
    int first_outstanding() const;

    const RankContext &self_;
    std::vector<TcpPeer> peers_;
    std::vector<pollfd> polled_;
    Clock::time_point looked_at_all_{};
    OpHeader call_;
    WaitChain wait_chain_;
    // This rank is about to stop: data that is not expected yet is dropped, because an abort notice
    // with the reason may follow it.
    bool suspects_failure_ = false;
    bool sent_notice_ = false;
    const ClosedInChildren closed_in_children_;
};

}  // namespace ringrt
