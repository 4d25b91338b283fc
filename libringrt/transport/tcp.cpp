// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/tcp.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libringrt/transport/tcp_impl.h"

namespace ringrt {

Status Tcp::send(Message *message) {
    self_.pass_fault_point();
    TcpPeer *peer = nullptr;
    RINGRT_TRY(reach(message->peer, &peer));
    bool moved = false;
    return queue(*peer, message,
                 {.call = call_,
                  .segment = message->segment,
                  .slot = message->slot,
                  .bytes = message->bytes()},
                 &moved);
}

Status Tcp::queue(TcpPeer &peer, Message *message, const Frame &frame, bool *moved) {
    message->done = false;
    peer.outgoing.push_back({message, frame, sizeof(Frame) + frame.bytes});
    return peer.outgoing.size() == 1 ? push(peer, moved) : Status{};
}

// A peer that this rank waits for is not told: it knows by itself.
Status Tcp::tell_waiting(int waits_for, int blame) {
    bool moved = false;
    for (TcpPeer *peer : peers_) {
        if (!peer->connected() || peer->gone || !peer->outgoing.empty() || peer->rank == waits_for)
            continue;
        peer->waiting.peer = peer->rank;
        RINGRT_TRY(queue(*peer, &peer->waiting,
                         {.kind = kWaiting, .call = call_, .segment = uint32_t(blame)}, &moved));
    }
    return {};
}

Status Tcp::push(TcpPeer &peer, bool *moved) {
    while (peer.connected() && !peer.outgoing.empty()) {
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
            if (errno != EPIPE && peer.error == 0) peer.error = errno;
            if (sent_notice_) return lost(peer, why);
            if (Status status = pull(peer, moved, Until::Empty); !status.ok()) return status;
            return connection_ended(peer, false, why);
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
    for (const TcpPeer *peer : peers_) {
        // poll skips a negative fd.
        bool listen = peer->connected() && (!peer->held || suspects_failure_) && !peer->gone;
        bool speak = peer->connected() && !peer->outgoing.empty() && !suspects_failure_;
        short events = short((listen ? POLLIN : 0) | (speak ? POLLOUT : 0));
        polled_.push_back(
            {.fd = events == 0 ? -1 : peer->fd.get(), .events = events, .revents = 0});
    }
    if (!suspects_failure_) connections_->add_to(&polled_);
    if (poll(polled_.data(), polled_.size(), sleep_ms) >= 0 || errno == EINTR) return {};
    return {RINGRT_SYSTEM_ERROR, format_text("rank %d: poll: %s", self_.rank, strerror(errno))};
}

// Sends and receives what is outstanding, and looks at the other peers only once a millisecond, or
// before a sleep: with p peers an operation mostly waits for one or two of them.
Status Tcp::progress(int sleep_ms, bool *moved) {
    if (connections_->busy()) RINGRT_TRY(connect(moved));
    for (TcpPeer *peer : peers_) {
        if (!peer->connected()) continue;
        if (!peer->outgoing.empty()) RINGRT_TRY(push(*peer, moved));
        if (peer->is_awaited()) RINGRT_TRY(pull(*peer, moved));
    }
    const bool rests = !*moved && sleep_ms > 0;
    if (rests || Clock::now() - looked_at_all_ >= kLookAtAll)
        RINGRT_TRY(look_at_all(rests ? sleep_ms : 0, moved));
    if (*moved) wait_chain_.moved();
    return {};
}

Status Tcp::look_at_all(int sleep_ms, bool *moved) {
    // A pause between two tries to connect ends without an event.
    RINGRT_TRY(sleep(connections_->busy() ? std::min(sleep_ms, kSliceMs) : sleep_ms));
    const auto connecting = std::span(polled_).subspan(peers_.size());
    const bool connects = connections_->busy() || connecting.size() > 1 ||
                          (!connecting.empty() && connecting[0].revents != 0);
    for (size_t i = 0; i < peers_.size(); ++i) {
        TcpPeer &peer = *peers_[i];
        const bool ready = polled_[i].revents != 0;
        if (ready && !peer.outgoing.empty()) RINGRT_TRY(push(peer, moved));
        // A held frame is compared with each new operation.
        if (ready || peer.held) RINGRT_TRY(pull(peer, moved));
    }
    looked_at_all_ = Clock::now();
    return connects ? connect(moved) : Status{};
}

Status Tcp::waiting(int peer, int *blame) {
    if (peer < 0) peer = first_outstanding();
    *blame = wait_chain_.blame(peer);
    return wait_chain_.due(*blame) ? tell_waiting(peer, *blame) : Status{};
}

int Tcp::first_outstanding() const {
    for (const TcpPeer *peer : peers_) {
        if (!peer->expected.empty() || (peer->in_frame && !peer->held)) return peer->rank;
    }
    for (const TcpPeer *peer : peers_) {
        if (!peer->outgoing.empty()) return peer->rank;
    }
    return -1;
}

}  // namespace ringrt
