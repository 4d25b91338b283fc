// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/tcp.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

namespace ringrt {
namespace {

constexpr uint32_t kFrameMagic = 0x72674652;  // "RFgr"
constexpr size_t kBufferBytes = 64 << 10;     // small frames are read many at a time
constexpr size_t kDirectBytes = 16 << 10;     // larger rests are read straight to where they belong
constexpr size_t kPiecesMax = 64;             // of one system call

enum FrameKind : uint32_t { kData = 1, kFarewell = 2 };

struct Frame {
    uint32_t magic = kFrameMagic;
    uint32_t kind = kData;
    Call call;
    uint32_t segment = 0, slot = 0;
    uint64_t bytes = 0;
};

struct Farewell {
    int32_t culprit = -1;
    int32_t code = 0;
    char line[248] = "";
};

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
    Message *incoming = nullptr;  // null within a farewell
    size_t taken = 0;             // bytes of the payload
    Farewell farewell;
    bool gone = false;  // said farewell in peace
};

class Tcp : public Transport {
  public:
    Tcp(const World &world, std::vector<Fd> fds);
    void begin(const Call &call) override { call_ = call; }
    Status send(Message *message) override;
    Status receive(Message *message) override;
    Status progress(int sleep_ms, bool *moved) override;
    int waiting_for() const override;
    void farewell(int culprit, const Status &why) override;
    void cut() noexcept override;

  private:
    Status push(int rank, bool *moved);
    Status pull(int rank, bool *moved);
    Status take(int rank, bool *moved);
    Status open_frame(int rank);
    Status close_frame(int rank);
    Status find_message(int rank);
    Status lost(int rank, const char *why) const;
    Status sleep(int sleep_ms);

    const World &world_;
    std::vector<Peer> peers_;
    std::vector<pollfd> polled_;
    Call call_;
};

Tcp::Tcp(const World &world, std::vector<Fd> fds) : world_(world), peers_(fds.size()) {
    for (size_t r = 0; r < fds.size(); ++r) {
        peers_[r].fd = std::move(fds[r]);
        if (peers_[r].fd.valid()) peers_[r].buffer.resize(kBufferBytes);
    }
}

Status Tcp::lost(int rank, const char *why) const {
    return {RINGRT_PEER_LOST,
            format_line("rank %d: %s is lost (%s) during %s", world_.rank,
                        world_.name_of(rank).c_str(), why, describe(call_).c_str()),
            rank};
}

Status Tcp::send(Message *message) {
    Peer &peer = peers_[size_t(message->peer)];
    message->done = false;
    Frame frame{.call = call_,
                .segment = message->segment,
                .slot = message->slot,
                .bytes = message->bytes()};
    peer.outgoing.push_back({message, frame, sizeof(Frame) + frame.bytes});
    bool moved = false;
    return peer.outgoing.size() == 1 ? push(message->peer, &moved) : Status{};
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
            if (Status status = pull(rank, moved); !status.ok()) return status;
            return lost(rank, strerror(errno));
        }
        *moved = true;
        peer.sent += size_t(sent);
        if (peer.sent < total) continue;
        message->done = true;
        peer.outgoing.pop_front();
        peer.sent = 0;
    }
    return {};
}

// Finds the expected message of the frame just read; peer.held where there is none yet.
Status Tcp::find_message(int rank) {
    Peer &peer = peers_[size_t(rank)];
    const Frame &frame = peer.frame;
    peer.held = false;
    if (frame.call.number > call_.number) {  // it is ahead: leave it in the socket
        peer.held = true;
        return {};
    }
    if (frame.call != call_) {
        return {RINGRT_MISMATCH,
                format_line(
                    "rank %d calls %s (its operation %u) where %s calls %s (its operation %u): "
                    "all ranks must call the same operations in the same order",
                    world_.rank, describe(call_).c_str(), call_.number,
                    world_.name_of(rank).c_str(), describe(frame.call).c_str(), frame.call.number),
                rank};
    }
    auto found = std::find_if(peer.expected.begin(), peer.expected.end(), [&](const Message *each) {
        return each->segment == frame.segment && each->slot == frame.slot;
    });
    if (found == peer.expected.end()) {
        peer.held = true;
        return {};
    }
    peer.incoming = *found;
    peer.expected.erase(found);
    if (peer.incoming->bytes() == frame.bytes) return {};
    return {RINGRT_MISMATCH,
            format_line("rank %d: %s sent %llu bytes where %zu were due during %s", world_.rank,
                        world_.name_of(rank).c_str(), static_cast<unsigned long long>(frame.bytes),
                        peer.incoming->bytes(), describe(call_).c_str())};
}

Status Tcp::open_frame(int rank) {
    Peer &peer = peers_[size_t(rank)];
    memcpy(&peer.frame, peer.buffer.data() + peer.begin, sizeof(Frame));
    peer.begin += sizeof(Frame);
    peer.taken = 0;
    peer.incoming = nullptr;
    const Frame &frame = peer.frame;
    bool farewell = frame.kind == kFarewell && frame.bytes == sizeof(Farewell);
    if (frame.magic != kFrameMagic || (frame.kind != kData && !farewell)) {
        return lost(rank, "what it sent is not a frame");
    }
    peer.in_frame = true;
    return farewell ? Status{} : find_message(rank);
}

Status Tcp::close_frame(int rank) {
    Peer &peer = peers_[size_t(rank)];
    peer.in_frame = false;
    if (peer.incoming != nullptr) {
        peer.incoming->done = true;
        return {};
    }
    Farewell &said = peer.farewell;
    if (said.culprit < 0) {
        peer.gone = true;
        return {};
    }
    said.line[sizeof said.line - 1] = 0;
    for (char &c : said.line) {
        if (c != 0 && (c < ' ' || c > '~')) c = '?';
    }
    int culprit = std::min(said.culprit, int32_t(world_.size - 1));
    return {RINGRT_PEER_LOST,
            format_line("rank %d: %s is lost during %s; %s told: %s", world_.rank,
                        world_.name_of(culprit).c_str(), describe(call_).c_str(),
                        world_.name_of(rank).c_str(), said.line),
            culprit};
}

// Takes what the buffer holds.
Status Tcp::take(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    for (;;) {
        if (peer.held) RINGRT_TRY(find_message(rank));
        if (peer.held) return {};
        if (!peer.in_frame) {
            if (peer.end - peer.begin < sizeof(Frame)) return {};
            RINGRT_TRY(open_frame(rank));
            *moved = true;
            continue;
        }
        size_t rest = std::min(size_t(peer.frame.bytes) - peer.taken, peer.end - peer.begin);
        const std::byte *from = peer.buffer.data() + peer.begin;
        if (peer.incoming == nullptr) {
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
        if (peer.taken == peer.frame.bytes) {
            RINGRT_TRY(close_frame(rank));
        } else if (peer.begin == peer.end) {
            return {};
        }
        *moved = true;
    }
}

Status Tcp::pull(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    for (;;) {
        RINGRT_TRY(take(rank, moved));
        if (peer.held || peer.gone) return {};
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
            return lost(rank, got == 0 ? "it died or closed its connection" : strerror(errno));
        *moved = true;
        if (!direct) {
            peer.end += size_t(got);
            continue;
        }
        peer.taken += size_t(got);
        if (peer.taken == peer.frame.bytes) RINGRT_TRY(close_frame(rank));
    }
}

Status Tcp::sleep(int sleep_ms) {
    polled_.clear();
    for (const Peer &peer : peers_) {
        // A negative fd is skipped by poll.
        bool listen = peer.fd.valid() && !peer.held && !peer.gone;
        short events = short((listen ? POLLIN : 0) | (peer.outgoing.empty() ? 0 : POLLOUT));
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
    return {};
}

int Tcp::waiting_for() const {
    for (size_t r = 0; r < peers_.size(); ++r) {
        if (!peers_[r].expected.empty() || (peers_[r].in_frame && !peers_[r].held)) return int(r);
    }
    for (size_t r = 0; r < peers_.size(); ++r) {
        if (!peers_[r].outgoing.empty()) return int(r);
    }
    return -1;
}

void Tcp::farewell(int culprit, const Status &why) {
    struct {
        Frame frame;
        Farewell farewell;
    } out{.frame = {.kind = kFarewell, .call = call_, .bytes = sizeof(Farewell)},
          .farewell = {.culprit = culprit, .code = why.code, .line = {}}};
    snprintf(out.farewell.line, sizeof out.farewell.line, "%s", why.line.c_str());
    for (Peer &peer : peers_) {
        // In the middle of a message there is no place for it; the closed connection must do.
        if (!peer.fd.valid() || peer.gone || peer.sent != 0) continue;
        (void)!::send(peer.fd.get(), &out, sizeof out, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (culprit >= 0) shutdown(peer.fd.get(), SHUT_WR);
    }
}

void Tcp::cut() noexcept {
    for (const Peer &peer : peers_) {
        if (peer.fd.valid()) shutdown(peer.fd.get(), SHUT_RDWR);
    }
}

}  // namespace

std::unique_ptr<Transport> make_tcp(const World &world, std::vector<Fd> peers) {
    return std::make_unique<Tcp>(world, std::move(peers));
}

}  // namespace ringrt
