// SPDX-License-Identifier: BSD-3-Clause
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libringrt/transport/tcp_impl.h"

namespace ringrt {
namespace {

constexpr size_t kDirectBytes = 16 << 10;  // larger rests are read directly into their destination

// Where the next call reads to. If the rest of the payload is large: its destination (*direct
// bytes), followed by space for the next frame header. Otherwise the free part of the buffer.
size_t places(TcpPeer &peer, iovec *pieces, size_t *direct) {
    const size_t rest = peer.in_frame ? size_t(peer.frame.bytes) - peer.taken : 0;
    *direct = 0;
    if (peer.incoming == nullptr || rest < kDirectBytes) {
        memmove(peer.buffer.get(), peer.buffer.get() + peer.begin, peer.end - peer.begin);
        peer.end -= peer.begin, peer.begin = 0;
        pieces[0] = {.iov_base = peer.buffer.get() + peer.end, .iov_len = kBufferBytes - peer.end};
        return 1;
    }
    size_t used = fill_pieces(peer.incoming->pieces, peer.taken, pieces, kPiecesMax);
    for (size_t i = 0; i < used; ++i) *direct += pieces[i].iov_len;
    peer.begin = peer.end = 0;
    pieces[used++] = {.iov_base = peer.buffer.get(), .iov_len = sizeof(Frame)};
    return used;
}

}  // namespace

Status Tcp::receive(Message *message) {
    TcpPeer *reached = nullptr;
    RINGRT_TRY(reach(message->peer, &reached));
    TcpPeer &peer = *reached;
    message->done = false;
    bool came = false;
    if (call_.kind == kPointToPoint) RINGRT_TRY(peer.early.claim(self_, call_, message, &came));
    if (came) return {};
    peer.expected.push_back(message);
    if (!peer.held) return {};
    bool moved = false;
    return take(peer, &moved);
}

// Finds the expected message of the frame just read. If there is none yet, sets peer.held: later
// data stays in the socket.
Status Tcp::find_message(TcpPeer &peer) {
    RINGRT_TRY(match(self_, call_, peer.rank, peer.frame, &peer.expected, &peer.incoming));
    if (peer.incoming == nullptr && peer.frame.call.kind == kPointToPoint && !peer.expected.empty())
        peer.incoming = peer.early.keep(peer.rank, peer.frame.slot, peer.frame.bytes);
    peer.held = peer.incoming == nullptr;
    return {};
}

Status Tcp::open_frame(TcpPeer &peer) {
    memcpy(&peer.frame, peer.buffer.get() + peer.begin, sizeof(Frame));
    peer.begin += sizeof(Frame);
    peer.taken = 0;
    peer.incoming = nullptr;
    if (!peer.frame.is_valid()) return lost(peer, "it sent an invalid frame");
    peer.in_frame = true;
    return peer.frame.kind == kData ? find_message(peer) : Status{};
}

Status Tcp::close_frame(TcpPeer &peer) {
    peer.in_frame = false;
    switch (peer.frame.kind) {
        case kData:
            peer.held = false;
            if (peer.incoming == nullptr) return {};
            peer.incoming->done = true;
            if (peer.frame.call.kind == kPointToPoint) peer.early.settle();
            self_.pass_fault_point();
            return {};
        case kWaiting:
            wait_chain_.heard(peer.rank, peer.frame.segment);
            return {};
        default:
            peer.gone = peer.notice.failed_rank < 0;
            return receive_abort_notice(self_, peer.rank, peer.notice, call_);
    }
}

// Processes the data in the buffer.
Status Tcp::take(TcpPeer &peer, bool *moved) {
    for (;;) {
        if (peer.held && !suspects_failure_) {
            RINGRT_TRY(find_message(peer));
            if (peer.held) return {};
        }
        if (!peer.in_frame) {
            if (peer.end - peer.begin < sizeof(Frame)) return {};
            RINGRT_TRY(open_frame(peer));
            continue;
        }
        size_t rest = std::min(size_t(peer.frame.bytes) - peer.taken, peer.end - peer.begin);
        const std::byte *from = peer.buffer.get() + peer.begin;
        if (peer.held || (peer.frame.kind == kData && peer.incoming == nullptr)) {
            // Dropped.
        } else if (peer.incoming == nullptr) {
            memcpy(reinterpret_cast<std::byte *>(&peer.notice) + peer.taken, from, rest);
        } else {
            iovec pieces[kPiecesMax];
            size_t used = fill_pieces(peer.incoming->pieces, peer.taken, pieces, kPiecesMax),
                   copied = 0;
            for (size_t i = 0; i < used && copied < rest; ++i) {
                size_t part = std::min(pieces[i].iov_len, rest - copied);
                memcpy(pieces[i].iov_base, from + copied, part);
                copied += part;
            }
            rest = copied;
        }
        peer.begin += rest;
        peer.taken += rest;
        const bool whole = peer.taken == peer.frame.bytes;
        if (peer.frame.kind == kData && (rest > 0 || whole)) *moved = true;
        if (whole) {
            RINGRT_TRY(close_frame(peer));
        } else if (peer.begin == peer.end) {
            return {};
        }
    }
}

// A connection ended without a notice. If it was closed in order, between two messages, that rank
// died. Otherwise it may have stopped because of another rank's death without being able to report
// it. Another rank that reports within a moment knows the cause better.
Status Tcp::connection_ended(TcpPeer &peer, bool in_order, const char *why) {
    constexpr auto kMoment = kSettle + std::chrono::milliseconds(500);
    if (peer.error != 0) why = strerror(peer.error);
    if (in_order && !peer.in_frame && peer.end == peer.begin) return lost(peer, why);
    peer.gone = suspects_failure_;
    if (suspects_failure_) return {};
    suspects_failure_ = true;
    bool moved = false;
    for (auto start = Clock::now(); Clock::now() - start < kMoment;) {
        for (TcpPeer *other : peers_)
            if (other->connected() && !other->gone) RINGRT_TRY(pull(*other, &moved));
        if (on_node_) RINGRT_TRY(on_node_(call_));
        RINGRT_TRY(sleep(kSliceMs));
    }
    return lost(peer, why);
}

Status Tcp::pull(TcpPeer &peer, bool *moved, Until until) {
    for (;;) {
        RINGRT_TRY(take(peer, moved));
        if ((peer.held && !suspects_failure_) || peer.gone) return {};
        iovec pieces[kPiecesMax + 1];
        size_t direct = 0;
        const size_t used = places(peer, pieces, &direct);
        msghdr header{.msg_iov = pieces, .msg_iovlen = used};
        ssize_t got = recvmsg(peer.fd.get(), &header, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
        if (got < 0 && peer.error == 0) peer.error = errno;
        if (got <= 0)
            return connection_ended(
                peer, got == 0, got == 0 ? "it died or closed its connection" : strerror(errno));
        size_t room = 0;
        for (size_t i = 0; i < used; ++i) room += pieces[i].iov_len;
        const bool drained = size_t(got) < room && !suspects_failure_;
        direct = std::min(size_t(got), direct);
        peer.end += size_t(got) - direct;
        if (direct > 0) {
            *moved = true;
            peer.taken += direct;
            if (peer.taken == peer.frame.bytes) RINGRT_TRY(close_frame(peer));
        }
        // What comes after a short read, or the end, is read when the socket is ready again.
        if (drained && until == Until::Short) return take(peer, moved);
    }
}

}  // namespace ringrt
