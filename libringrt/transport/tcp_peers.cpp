// SPDX-License-Identifier: BSD-3-Clause
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "libringrt/transport/tcp_impl.h"

namespace ringrt {

Tcp::Tcp(const RankContext &self, std::unique_ptr<Connections> connections, LossCheck on_node)
    : self_(self),
      connections_(std::move(connections)),
      on_node_(std::move(on_node)),
      known_(size_t(self.size)),
      wait_chain_(self),
      closed_in_children_({}) {
    if (connections_->listener() >= 0) closed_in_children_.add(connections_->listener());
}

size_t Tcp::connections() const {
    return size_t(std::count_if(peers_.begin(), peers_.end(),
                                [](const TcpPeer *peer) { return peer->connected(); }));
}

TcpPeer &Tcp::peer_of(int rank) {
    auto &known = known_[size_t(rank)];
    if (known == nullptr) {
        known = std::make_unique<TcpPeer>(rank);
        const auto later = [](const TcpPeer *each, int than) { return each->rank < than; };
        peers_.insert(std::lower_bound(peers_.begin(), peers_.end(), rank, later), known.get());
        polled_.reserve(peers_.size());  // an abort notice must not allocate memory
    }
    return *known;
}

Status Tcp::reach(int rank, TcpPeer **out) {
    TcpPeer &peer = peer_of(rank);
    *out = &peer;
    if (peer.connected()) return {};
    connections_->want(rank);
    bool moved = false;
    return connect(&moved);
}

void Tcp::adopt(TcpPeer &peer, Fd fd) {
    peer.buffer.reset(new std::byte[kBufferBytes]);
    closed_in_children_.add(fd.get());
    peer.fd = std::move(fd);
}

// Continues the connections under way, and takes those that others have begun.
Status Tcp::connect(bool *moved) {
    made_.clear();
    RINGRT_TRY(connections_->progress(&made_));
    for (Connections::Made &made : made_) {
        TcpPeer &peer = peer_of(made.peer);
        if (!made.fd.valid()) return connection_ended(peer, false, made.why.c_str());
        adopt(peer, std::move(made.fd));
    }
    for (const Connections::Made &made : made_) RINGRT_TRY(push(*known_[size_t(made.peer)], moved));
    return {};
}

// Finishes a half-sent message and sends as much of the abort notice after it as fits. Drops
// incoming data, so that peers that do the same can progress. Returns true if nothing is left to
// do: the peer's host has everything, or the peer is gone.
bool Tcp::send_notice(TcpPeer &peer, std::span<const std::byte> notice) {
    while (peer.outgoing.size() > size_t(peer.sent != 0)) peer.outgoing.pop_back();
    bool moved = false;
    if (!push(peer, &moved).ok() || peer.gone) return true;
    if (peer.outgoing.empty() && peer.notice_sent < notice.size()) {
        const auto rest = notice.subspan(peer.notice_sent);
        const ssize_t sent =
            ::send(peer.fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) peer.notice_sent += size_t(sent);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return true;
    }
    if (recv(peer.fd.get(), peer.buffer.get(), kBufferBytes, MSG_DONTWAIT) == 0) return true;
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
        for (TcpPeer *peer : peers_) {
            if (!peer->connected() || peer->gone) continue;
            if (send_notice(*peer, std::as_bytes(std::span(&out, 1))) || peer->rank == failed_rank)
                continue;
            const short speak = peer->notice_sent < sizeof out ? POLLOUT : 0;
            polled_.push_back(
                {.fd = peer->fd.get(), .events = short(POLLIN | speak), .revents = 0});
        }
        if (!failed || polled_.empty() || self_.is_retired()) break;
        poll(polled_.data(), polled_.size(), kLookMs);
    } while (Clock::now() - start < kSettle);
    for (TcpPeer *peer : peers_) {
        if (failed && peer->notice_sent == sizeof out) shutdown(peer->fd.get(), SHUT_WR);
        peer->outgoing.clear();  // these messages end with the operation
        peer->expected.clear();
    }
}

std::unique_ptr<Transport> make_tcp(const RankContext &self,
                                    std::unique_ptr<Connections> connections, LossCheck on_node) {
    return std::make_unique<Tcp>(self, std::move(connections), std::move(on_node));
}

}  // namespace ringrt
