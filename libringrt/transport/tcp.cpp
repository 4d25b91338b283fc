// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/tcp.h"

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

Tcp::Tcp(const World &world, std::vector<Fd> fds)
    : world_(world), peers_(fds.size()), waits_(world), closed_in_children_(numbers_of(fds)) {
    for (size_t r = 0; r < fds.size(); ++r) {
        peers_[r].fd = std::move(fds[r]);
        if (peers_[r].fd.valid()) peers_[r].buffer.resize(kBufferBytes);
    }
}

Status Tcp::send(Message *message) {
    world_.pass_hop();
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
            // Whatever it said before it went explains more than a broken pipe.
            const char *why = strerror(errno);
            if (Status status = pull(rank, moved); !status.ok()) return status;
            return vanished(rank, false, why);
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
        // A negative fd is skipped by poll.
        bool listen = peer.fd.valid() && (!peer.held || in_doubt_) && !peer.gone;
        bool speak = !peer.outgoing.empty() && !in_doubt_;
        short events = short((listen ? POLLIN : 0) | (speak ? POLLOUT : 0));
        polled_.push_back({.fd = events == 0 ? -1 : peer.fd.get(), .events = events, .revents = 0});
    }
    if (poll(polled_.data(), polled_.size(), sleep_ms) >= 0 || errno == EINTR) return {};
    return {RINGRT_SYSTEM_ERROR, format_line("rank %d: poll: %s", world_.rank, strerror(errno))};
}

Status Tcp::progress(int sleep_ms, bool *moved) {
    for (int attempt = 0; attempt < 2; ++attempt) {
        for (size_t r = 0; r < peers_.size(); ++r) {
            TcpPeer &peer = peers_[r];
            if (!peer.fd.valid()) continue;
            // After a sleep only those that have something.
            if (attempt == 1 && polled_[r].revents == 0) continue;
            if (!peer.outgoing.empty()) RINGRT_TRY(push(int(r), moved));
            RINGRT_TRY(pull(int(r), moved));
        }
        if (*moved || sleep_ms == 0) break;
        if (attempt == 0) RINGRT_TRY(sleep(sleep_ms));
    }
    if (*moved) waits_.moved();
    return {};
}

Status Tcp::waiting(int peer, int *blame) {
    if (peer < 0) peer = first_outstanding();
    *blame = waits_.blame(peer);
    return waits_.due() ? tell_waiting(peer) : Status{};
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

// Finishes the messages that are half sent, for a moment: after them there is place for a farewell.
// What comes in meanwhile is dropped, so that peers who do the same get on.
void Tcp::settle() {
    in_doubt_ = true;
    for (auto start = Clock::now(); Clock::now() - start < kSettle;) {
        polled_.clear();
        for (size_t r = 0; r < peers_.size(); ++r) {
            TcpPeer &peer = peers_[r];
            if (!peer.fd.valid() || peer.gone || peer.sent == 0) continue;
            while (peer.outgoing.size() > 1) peer.outgoing.pop_back();
            bool moved = false;
            (void)push(int(r), &moved);
            (void)!recv(peer.fd.get(), peer.buffer.data(), kBufferBytes, MSG_DONTWAIT);
            if (peer.sent != 0 && !peer.gone)
                polled_.push_back({.fd = peer.fd.get(), .events = POLLIN | POLLOUT, .revents = 0});
        }
        if (polled_.empty()) return;
        poll(polled_.data(), polled_.size(), kSliceMs);
    }
}

void Tcp::farewell(int culprit, const Status &why) {
    if (said_farewell_) return;
    said_farewell_ = culprit >= 0;
    if (culprit >= 0) settle();
    struct {
        Frame frame;
        Farewell farewell;
    } out{.frame = {.kind = kFarewell, .call = call_, .bytes = sizeof(Farewell)},
          .farewell = make_farewell(culprit, why)};
    for (TcpPeer &peer : peers_) {
        // In the middle of a message there is no place for it; the closed connection must do.
        if (peer.fd.valid() && !peer.gone && peer.sent == 0) {
            (void)!::send(peer.fd.get(), &out, sizeof out, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (culprit >= 0) shutdown(peer.fd.get(), SHUT_WR);
        }
        peer.outgoing.clear();  // these messages end with the operation
        peer.expected.clear();
    }
}

std::unique_ptr<Transport> make_tcp(const World &world, std::vector<Fd> peers) {
    return std::make_unique<Tcp>(world, std::move(peers));
}

}  // namespace ringrt
