// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/tcp.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "libringrt/transport/frame.h"

namespace ringrt {
namespace {

constexpr size_t kBufferBytes = 64 << 10;  // small frames are read many at a time
constexpr size_t kDirectBytes = 16 << 10;  // larger rests are read straight to where they belong
constexpr size_t kPiecesMax = 64;          // of one system call
// Given to peers to take the rest of a message, so that there is place for a farewell after it.
constexpr auto kSettle = std::chrono::seconds(1);

// `pieces` without their first `skip` bytes, at most kPiecesMax of them.
size_t fill(const std::vector<std::span<std::byte>> &pieces, size_t skip, iovec *out, size_t room) {
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
struct Peer {
    Fd fd;
    // Out: the message in front is `sent` bytes along, its frame included.
    struct Outgoing {
        Message *message;
        Frame frame;
        size_t total;
    };
    std::deque<Outgoing> outgoing;
    size_t sent = 0;
    // In: bytes [begin, end) of the buffer are not taken yet.
    std::vector<std::byte> buffer;
    size_t begin = 0, end = 0;
    std::vector<Message *> expected;
    Frame frame;
    bool in_frame = false;        // `frame` is read, its payload not all taken
    bool held = false;            // its message is not expected yet
    Message *incoming = nullptr;  // of a data frame
    size_t taken = 0;             // bytes of the payload
    Farewell farewell;
    bool gone = false;  // said farewell in peace
    Message waiting;    // a kWaiting frame under way, unless done
};

class Tcp : public Transport {
  public:
    Tcp(const World &world, std::vector<Fd> fds);
    void begin(const Call &call) override { call_ = call; }
    Status send(Message *message) override;
    Status receive(Message *message) override;
    Status progress(int sleep_ms, bool *moved) override;
    Status waiting(int peer, int *blame) override;
    void farewell(int culprit, const Status &why) override;

  private:
    Status push(int rank, bool *moved);
    Status pull(int rank, bool *moved);
    Status take(int rank, bool *moved);
    Status open_frame(int rank);
    Status close_frame(int rank);
    Status find_message(int rank);
    Status queue(Message *message, const Frame &frame, bool *moved);
    Status tell_waiting(int waits_for);
    Status lost(int rank, const char *why) const { return peer_lost(world_, rank, why, call_); }
    Status vanished(int rank, bool in_order, const char *why);
    void settle();
    Status sleep(int sleep_ms);
    int first_outstanding() const;

    const World &world_;
    std::vector<Peer> peers_;
    std::vector<pollfd> polled_;
    Call call_;
    Waits waits_;
    // This rank is about to go: data that nobody expects yet are dropped, for behind them there may be a
    // farewell that tells why.
    bool in_doubt_ = false;
    bool said_farewell_ = false;
};

Tcp::Tcp(const World &world, std::vector<Fd> fds)
    : world_(world), peers_(fds.size()), waits_(world) {
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
    Peer &peer = peers_[size_t(message->peer)];
    message->done = false;
    peer.outgoing.push_back({message, frame, sizeof(Frame) + frame.bytes});
    return peer.outgoing.size() == 1 ? push(message->peer, moved) : Status{};
}

Status Tcp::tell_waiting(int waits_for) {
    bool moved = false;
    for (size_t r = 0; r < peers_.size(); ++r) {
        Peer &peer = peers_[r];
        if (!peer.fd.valid() || peer.gone || !peer.outgoing.empty() || int(r) == waits_for)
            continue;
        peer.waiting.peer = int(r);
        RINGRT_TRY(queue(&peer.waiting,
                         {.kind = kWaiting, .call = call_, .segment = uint32_t(waits_for)},
                         &moved));
    }
    return {};
}

Status Tcp::receive(Message *message) {
    Peer &peer = peers_[size_t(message->peer)];
    message->done = false;
    peer.expected.push_back(message);
    if (!peer.held) return {};
    bool moved = false;
    return take(message->peer, &moved);
}

Status Tcp::push(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
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
        used += fill(message->pieces, skip, pieces + used, kPiecesMax);
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

// Finds the expected message of the frame just read; peer.held where there is none yet: what
// follows stays in the socket.
Status Tcp::find_message(int rank) {
    Peer &peer = peers_[size_t(rank)];
    RINGRT_TRY(match(world_, call_, rank, peer.frame, &peer.expected, &peer.incoming));
    peer.held = peer.incoming == nullptr;
    return {};
}

Status Tcp::open_frame(int rank) {
    Peer &peer = peers_[size_t(rank)];
    memcpy(&peer.frame, peer.buffer.data() + peer.begin, sizeof(Frame));
    peer.begin += sizeof(Frame);
    peer.taken = 0;
    peer.incoming = nullptr;
    if (!peer.frame.sound()) return lost(rank, "what it sent is not a frame");
    peer.in_frame = true;
    return peer.frame.kind == kData ? find_message(rank) : Status{};
}

Status Tcp::close_frame(int rank) {
    Peer &peer = peers_[size_t(rank)];
    peer.in_frame = false;
    switch (peer.frame.kind) {
        case kData:
            if (peer.held) {
                peer.held = false;
                return {};
            }
            peer.incoming->done = true;
            world_.pass_hop();
            return {};
        case kWaiting:
            waits_.heard(rank, peer.frame.segment);
            return {};
        default:
            peer.gone = peer.farewell.culprit < 0;
            return hear_farewell(world_, rank, peer.farewell, call_);
    }
}

// Takes what the buffer holds.
Status Tcp::take(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    for (;;) {
        if (peer.held && !in_doubt_) {
            RINGRT_TRY(find_message(rank));
            if (peer.held) return {};
        }
        if (!peer.in_frame) {
            if (peer.end - peer.begin < sizeof(Frame)) return {};
            RINGRT_TRY(open_frame(rank));
            continue;
        }
        size_t rest = std::min(size_t(peer.frame.bytes) - peer.taken, peer.end - peer.begin);
        const std::byte *from = peer.buffer.data() + peer.begin;
        if (peer.held) {
            // Dropped.
        } else if (peer.incoming == nullptr) {
            memcpy(reinterpret_cast<std::byte *>(&peer.farewell) + peer.taken, from, rest);
        } else {
            iovec pieces[kPiecesMax];
            size_t used = fill(peer.incoming->pieces, peer.taken, pieces, kPiecesMax), copied = 0;
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
            RINGRT_TRY(close_frame(rank));
        } else if (peer.begin == peer.end) {
            return {};
        }
    }
}

// A connection ended without a farewell. In order and between two messages: a death. Otherwise it
// may be a rank that goes because of another's death and could not say so: whoever else has news
// within a moment knows better.
Status Tcp::vanished(int rank, bool in_order, const char *why) {
    constexpr auto kMoment = kSettle + std::chrono::milliseconds(500);
    Peer &peer = peers_[size_t(rank)];
    if (in_order && !peer.in_frame && peer.end == peer.begin) return lost(rank, why);
    peer.gone = in_doubt_;
    if (in_doubt_) return {};
    in_doubt_ = true;
    bool moved = false;
    for (auto start = Clock::now(); Clock::now() - start < kMoment;) {
        for (size_t r = 0; r < peers_.size(); ++r) {
            const Peer &other = peers_[r];
            if (other.fd.valid() && !other.gone) RINGRT_TRY(pull(int(r), &moved));
        }
        RINGRT_TRY(sleep(kSliceMs));
    }
    return lost(rank, why);
}

Status Tcp::pull(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    for (;;) {
        RINGRT_TRY(take(rank, moved));
        if ((peer.held && !in_doubt_) || peer.gone) return {};
        iovec pieces[kPiecesMax];
        size_t used = 1;
        size_t rest = peer.in_frame ? size_t(peer.frame.bytes) - peer.taken : 0;
        bool direct = peer.incoming != nullptr && peer.in_frame && rest >= kDirectBytes;
        if (direct) {
            used = fill(peer.incoming->pieces, peer.taken, pieces, kPiecesMax);
        } else {
            memmove(peer.buffer.data(), peer.buffer.data() + peer.begin, peer.end - peer.begin);
            peer.end -= peer.begin, peer.begin = 0;
            pieces[0] = {.iov_base = peer.buffer.data() + peer.end,
                         .iov_len = kBufferBytes - peer.end};
        }
        msghdr header{.msg_iov = pieces, .msg_iovlen = used};
        ssize_t got = recvmsg(peer.fd.get(), &header, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
        if (got <= 0)
            return vanished(rank, got == 0,
                            got == 0 ? "it died or closed its connection" : strerror(errno));
        if (!direct) {
            peer.end += size_t(got);
            continue;
        }
        *moved = true;
        peer.taken += size_t(got);
        if (peer.taken == peer.frame.bytes) RINGRT_TRY(close_frame(rank));
    }
}

Status Tcp::sleep(int sleep_ms) {
    polled_.clear();
    for (const Peer &peer : peers_) {
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
            Peer &peer = peers_[r];
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
            Peer &peer = peers_[r];
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
    for (Peer &peer : peers_) {
        // In the middle of a message there is no place for it; the closed connection must do.
        if (peer.fd.valid() && !peer.gone && peer.sent == 0) {
            (void)!::send(peer.fd.get(), &out, sizeof out, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (culprit >= 0) shutdown(peer.fd.get(), SHUT_WR);
        }
        peer.outgoing.clear();  // these messages end with the operation
        peer.expected.clear();
    }
}

}  // namespace

std::unique_ptr<Transport> make_tcp(const World &world, std::vector<Fd> peers) {
    return std::make_unique<Tcp>(world, std::move(peers));
}

}  // namespace ringrt
