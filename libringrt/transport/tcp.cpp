// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/tcp.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "libringrt/transport/tcp_impl.h"

namespace ringrt {

namespace {

std::vector<int> numbers_of(const std::vector<Fd> &fds) {
    std::vector<int> out;
    for (const Fd &fd : fds)
        if (fd.valid()) out.push_back(fd.get());
    return out;
}

}  // namespace

Tcp::Tcp(const RankContext &self, std::vector<Fd> fds)
    : self_(self), peers_(fds.size()), wait_chain_(self), closed_in_children_(numbers_of(fds)) {
    for (size_t r = 0; r < fds.size(); ++r) {
        peers_[r].fd = std::move(fds[r]);
        if (peers_[r].fd.valid()) peers_[r].buffer.resize(kBufferBytes);
    }
    polled_.reserve(fds.size());  // an abort notice must not allocate memory
}

Status Tcp::send(Message *message) {
    self_.pass_fault_point();
    bool moved = false;
    return queue(message,
                 {.call = call_,
                  .segment = message->segment,
                  .slot = message->slot,
                  .bytes = message->bytes()},
                 &moved);
}

Status Tcp::queue(Message *message, const Frame &frame, bool *moved) {
    TcpPeer &peer = peers_[size_t(message->peer)];
    message->done = false;
    peer.outgoing.push_back({message, frame, sizeof(Frame) + frame.bytes});
    return peer.outgoing.size() == 1 ? push(message->peer, moved) : Status{};
}

Status Tcp::tell_waiting(int waits_for) {
    bool moved = false;
    for (size_t r = 0; r < peers_.size(); ++r) {
        TcpPeer &peer = peers_[r];
        if (!peer.fd.valid() || peer.gone || !peer.outgoing.empty() || int(r) == waits_for)
            continue;
        peer.waiting.peer = int(r);
        RINGRT_TRY(queue(&peer.waiting,
                         {.kind = kWaiting, .call = call_, .segment = uint32_t(waits_for)},
                         &moved));
    }
    return {};
}

Status Tcp::push(int rank, bool *moved) {
    TcpPeer &peer = peers_[size_t(rank)];
    while (!peer.outgoing.empty()) {
        auto &[message, frame, total] = peer.outgoing.front();
        iovec pieces[kPiecesMax + 1];
        size_t used = 0, skip = 0;
        if (peer.sent < sizeof frame) {
            pieces[used++] = {.iov_base = reinterpret_cast<std::byte *>(&frame) + peer.sent,
                              .iov_len = sizeof frame - peer.sent};
        } else {
            skip = peer.sent - sizeof frame;
        }
        used += fill_pieces(message->pieces, skip, pieces + used, kPiecesMax);
        msghdr header{.msg_iov = pieces, .msg_iovlen = used};
        ssize_t sent = sendmsg(peer.fd.get(), &header, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
        if (sent < 0) {
            // A message that the peer sent before it stopped explains more than a broken pipe. (Not
            // if this rank has sent its own notice: then the peer's data may not be what is
            // expected.)
            const char *why = strerror(errno);
            if (sent_notice_) return lost(rank, why);
            if (Status status = pull(rank, moved); !status.ok()) return status;
            return connection_ended(rank, false, why);
        }
        if (frame.kind == kData) *moved = true;
        peer.sent += size_t(sent);
        if (peer.sent < total) continue;
        message->done = true;
        peer.outgoing.pop_front();
        peer.sent = 0;
    }
    return {};
}

Status Tcp::sleep(int sleep_ms) {
    polled_.clear();
    for (const TcpPeer &peer : peers_) {
        // poll skips a negative fd.
        bool listen = peer.fd.valid() && (!peer.held || suspects_failure_) && !peer.gone;
        bool speak = !peer.outgoing.empty() && !suspects_failure_;
        short events = short((listen ? POLLIN : 0) | (speak ? POLLOUT : 0));
        polled_.push_back({.fd = events == 0 ? -1 : peer.fd.get(), .events = events, .revents = 0});
    }
    if (poll(polled_.data(), polled_.size(), sleep_ms) >= 0 || errno == EINTR) return {};
    return {RINGRT_SYSTEM_ERROR, format_text("rank %d: poll: %s", self_.rank, strerror(errno))};
}

// Sends and receives what is outstanding, and looks at the other peers only once a millisecond, or
// before a sleep: with p ranks an operation mostly waits for one or two of the p-1 others.
Status Tcp::progress(int sleep_ms, bool *moved) {
    for (size_t r = 0; r < peers_.size(); ++r) {
        TcpPeer &peer = peers_[r];
        if (!peer.outgoing.empty()) RINGRT_TRY(push(int(r), moved));
        if (peer.is_awaited()) RINGRT_TRY(pull(int(r), moved));
    }
    const bool rests = !*moved && sleep_ms > 0;
    if (rests || Clock::now() - looked_at_all_ >= kLookAtAll)
        RINGRT_TRY(look_at_all(rests ? sleep_ms : 0, moved));
    if (*moved) wait_chain_.moved();
    return {};
}

Status Tcp::look_at_all(int sleep_ms, bool *moved) {
    RINGRT_TRY(sleep(sleep_ms));
    for (size_t r = 0; r < peers_.size(); ++r) {
        TcpPeer &peer = peers_[r];
        const bool ready = polled_[r].revents != 0;
        if (ready && !peer.outgoing.empty()) RINGRT_TRY(push(int(r), moved));
        // A held frame is compared with each new operation.
        if (ready || peer.held) RINGRT_TRY(pull(int(r), moved));
    }
    looked_at_all_ = Clock::now();
    return {};
}

Status Tcp::waiting(int peer, int *blame) {
    if (peer < 0) peer = first_outstanding();
    *blame = wait_chain_.blame(peer);
    return wait_chain_.due() ? tell_waiting(peer) : Status{};
}

int Tcp::first_outstanding() const {
    for (size_t r = 0; r < peers_.size(); ++r) {
        if (!peers_[r].expected.empty() || (peers_[r].in_frame && !peers_[r].held)) return int(r);
    }
    for (size_t r = 0; r < peers_.size(); ++r) {
        if (!peers_[r].outgoing.empty()) return int(r);
    }
    return -1;
}

// Finishes a half-sent message and sends as much of the abort notice after it as fits. Drops
// incoming data, so that peers that do the same can progress. Returns true if nothing is left to
// do: the peer's host has everything, or the peer is gone.
bool Tcp::send_notice(int rank, std::span<const std::byte> notice) {
    TcpPeer &peer = peers_[size_t(rank)];
    while (peer.outgoing.size() > size_t(peer.sent != 0)) peer.outgoing.pop_back();
    bool moved = false;
    if (!push(rank, &moved).ok() || peer.gone) return true;
    if (peer.outgoing.empty() && peer.notice_sent < notice.size()) {
        const auto rest = notice.subspan(peer.notice_sent);
        const ssize_t sent =
            ::send(peer.fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) peer.notice_sent += size_t(sent);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return true;
    }
    if (recv(peer.fd.get(), peer.buffer.data(), kBufferBytes, MSG_DONTWAIT) == 0) return true;
    int under_way = 0;
    return peer.notice_sent == notice.size() &&
           (ioctl(peer.fd.get(), SIOCOUTQ, &under_way) != 0 || under_way == 0);
}

// After a failure each peer must get the reason before it sees a closed connection, which discards
// data in flight; so this waits a moment for each peer. (Not for failed_rank, which may be gone.)
void Tcp::notify_abort(int failed_rank, const Status &why) {
    if (sent_notice_) return;
    const bool failed = failed_rank >= 0;
    sent_notice_ = suspects_failure_ = failed;
    struct {
        Frame frame;
        AbortNotice notice;
    } out{.frame = {.kind = kAbortNotice, .call = call_, .bytes = sizeof(AbortNotice)},
          .notice = make_abort_notice(failed_rank, why)};
    const auto start = Clock::now();
    do {
        polled_.clear();
        for (size_t r = 0; r < peers_.size(); ++r) {
            const TcpPeer &peer = peers_[r];
            if (!peer.fd.valid() || peer.gone) continue;
            if (send_notice(int(r), std::as_bytes(std::span(&out, 1))) || int(r) == failed_rank)
                continue;
            const short speak = peer.notice_sent < sizeof out ? POLLOUT : 0;
            polled_.push_back({.fd = peer.fd.get(), .events = short(POLLIN | speak), .revents = 0});
        }
        if (!failed || polled_.empty()) break;
        poll(polled_.data(), polled_.size(), kLookMs);
    } while (Clock::now() - start < kSettle);
    for (TcpPeer &peer : peers_) {
        if (failed && peer.notice_sent == sizeof out) shutdown(peer.fd.get(), SHUT_WR);
        peer.outgoing.clear();  // these messages end with the operation
        peer.expected.clear();
    }
}

std::unique_ptr<Transport> make_tcp(const RankContext &self, std::vector<Fd> peers) {
    return std::make_unique<Tcp>(self, std::move(peers));
}

}  // namespace ringrt
