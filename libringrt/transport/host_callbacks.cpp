// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/transport/host_callbacks.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <thread>

#include "libringrt/transport/early_messages.h"

namespace ringrt {
namespace {

constexpr size_t kInlineBytes = 1024;  // messages up to this size travel in their head
enum Tag : int { kHead = 0, kBytes = 1 };

struct Head {
    Frame frame;
    std::byte inlined[kInlineBytes];
};

struct Outgoing {
    Message *message = nullptr;  // null: a frame of the transport itself
    Head head;
    void *head_request = nullptr, *bytes_request = nullptr;
};

struct Incoming {
    Message *message;
    void *request;
};

struct Peer {
    std::deque<std::unique_ptr<Outgoing>> outgoing;
    std::deque<Incoming> incoming;  // messages whose data is arriving
    std::vector<Message *> expected;
    EarlyMessages early;
    std::unique_ptr<Head> head;  // for the next message
    void *head_request = nullptr;
    bool held = false;  // the head is here, but its message is not expected yet
    bool gone = false;  // finished normally
};

class HostTransport : public Transport {
  public:
    HostTransport(const RankContext &self, const ringrt_messenger_t &messenger);
    ~HostTransport() override;
    void begin(const OpHeader &call) override { call_ = call; }
    Status send(Message *message) override;
    Status receive(Message *message) override;
    Status progress(int sleep_ms, bool *moved) override;
    Status waiting(int peer, int *blame) override;
    void notify_abort(int failed_rank, const Status &why) override;

  private:
    Status post_head(int rank);
    Status send_out(int rank, Message *message, const Frame &frame, std::span<const std::byte> own);
    Status sent(int rank, bool *moved);
    Status received(int rank, bool *moved);
    Status open_head(int rank);
    Status find_message(int rank);
    Status failed(int rank, const char *what) const;
    Status post(bool out, int rank, const std::vector<std::span<std::byte>> &pieces, Tag tag,
                void **request);
    Status test(int rank, void **request, bool *done);
    [[nodiscard]] int first_outstanding() const;

    const RankContext &self_;
    ringrt_messenger_t messenger_;
    std::vector<Peer> peers_;
    OpHeader call_;
    WaitChain wait_chain_;
    bool sent_notice_ = false, clean_ = false;
};

HostTransport::HostTransport(const RankContext &self, const ringrt_messenger_t &messenger)
    : self_(self), messenger_(messenger), peers_(size_t(self.size)), wait_chain_(self) {}

HostTransport::~HostTransport() {
    for (Peer &peer : peers_) {
        if (peer.head_request == nullptr) continue;
        // MPI may still write to a request that it cannot cancel: leak its memory.
        if (messenger_.cancel(messenger_.context, &peer.head_request) != 0)
            (void)peer.head.release();
    }
    for (Peer &peer : peers_) {
        for (auto &out : peer.outgoing) (void)out.release();  // MPI may still read it
    }
    messenger_.release(messenger_.context, clean_ ? 1 : 0);
}

Status HostTransport::failed(int rank, const char *what) const {
    return peer_lost(self_, rank, what, call_);
}

Status HostTransport::post(bool out, int rank, const std::vector<std::span<std::byte>> &pieces,
                           Tag tag, void **request) {
    std::vector<ringrt_piece_t> list;
    for (const auto &piece : pieces) list.push_back({piece.data(), piece.size()});
    auto function = out ? messenger_.send : messenger_.receive;
    int code = function(messenger_.context, list.data(), list.size(), rank, tag, request);
    return code == 0 ? Status{}
                     : failed(rank, out ? "MPI cannot send to it" : "MPI cannot receive");
}

Status HostTransport::test(int rank, void **request, bool *done) {
    *done = *request == nullptr;
    if (*done) return {};
    int flag = 0;
    if (messenger_.test(messenger_.context, request, &flag) != 0)
        return failed(rank, "MPI reports an error");
    *done = flag != 0;
    return {};
}

Status HostTransport::post_head(int rank) {
    Peer &peer = peers_[size_t(rank)];
    if (peer.head == nullptr) peer.head = std::make_unique<Head>();
    return post(false, rank, {std::as_writable_bytes(std::span(peer.head.get(), 1))}, kHead,
                &peer.head_request);
}

Status HostTransport::send_out(int rank, Message *message, const Frame &frame,
                               std::span<const std::byte> own) {
    auto out = std::make_unique<Outgoing>();
    out->message = message;
    out->head.frame = frame;
    size_t used = 0;
    auto add = [&](std::span<const std::byte> bytes) {
        memcpy(out->head.inlined + used, bytes.data(), bytes.size());
        used += bytes.size();
    };
    bool small = frame.bytes <= kInlineBytes;
    if (!own.empty()) add(own);
    if (message != nullptr && small) {
        for (const auto &piece : message->pieces) add(piece);
    }
    auto *first = reinterpret_cast<std::byte *>(&out->head);
    RINGRT_TRY(post(true, rank, {{first, sizeof(Frame) + used}}, kHead, &out->head_request));
    Peer &peer = peers_[size_t(rank)];
    peer.outgoing.push_back(std::move(out));
    if (small) return {};
    return post(true, rank, message->pieces, kBytes, &peer.outgoing.back()->bytes_request);
}

Status HostTransport::send(Message *message) {
    self_.pass_fault_point();
    message->done = false;
    return send_out(message->peer, message,
                    {.call = call_,
                     .segment = message->segment,
                     .slot = message->slot,
                     .bytes = message->bytes()},
                    {});
}

Status HostTransport::receive(Message *message) {
    Peer &peer = peers_[size_t(message->peer)];
    message->done = false;
    bool came = false;
    if (call_.kind == kPointToPoint) RINGRT_TRY(peer.early.claim(self_, call_, message, &came));
    if (came) return {};
    peer.expected.push_back(message);
    return peer.held ? find_message(message->peer) : Status{};
}

// Finds the message that the head belongs to, and posts a receive for the next head.
Status HostTransport::find_message(int rank) {
    Peer &peer = peers_[size_t(rank)];
    Message *message = nullptr;
    RINGRT_TRY(match(self_, call_, rank, peer.head->frame, &peer.expected, &message));
    const Frame &frame = peer.head->frame;
    if (message == nullptr && frame.call.kind == kPointToPoint && !peer.expected.empty())
        message = peer.early.keep(rank, frame.slot, frame.bytes);
    peer.held = message == nullptr;
    if (peer.held) return {};
    if (peer.head->frame.bytes <= kInlineBytes) {
        const std::byte *from = peer.head->inlined;
        for (auto &piece : message->pieces) {
            memcpy(piece.data(), from, piece.size());
            from += piece.size();
        }
        message->done = true;
        peer.early.settle();
        self_.pass_fault_point();
    } else {
        peer.incoming.push_back({message, nullptr});
        RINGRT_TRY(post(false, rank, message->pieces, kBytes, &peer.incoming.back().request));
    }
    return post_head(rank);
}

Status HostTransport::open_head(int rank) {
    Peer &peer = peers_[size_t(rank)];
    const Frame &frame = peer.head->frame;
    if (!frame.is_valid()) return failed(rank, "it sent an invalid frame");
    if (frame.kind == kData) return find_message(rank);
    if (frame.kind == kWaiting) {
        wait_chain_.heard(rank, frame.segment);
        return post_head(rank);
    }
    AbortNotice said;
    memcpy(&said, peer.head->inlined, sizeof said);
    peer.gone = said.failed_rank < 0;
    return receive_abort_notice(self_, rank, said, call_);
}

Status HostTransport::sent(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    while (!peer.outgoing.empty()) {
        Outgoing &out = *peer.outgoing.front();
        bool head = false, bytes = false;
        RINGRT_TRY(test(rank, &out.head_request, &head));
        RINGRT_TRY(test(rank, &out.bytes_request, &bytes));
        if (!head || !bytes) return {};
        if (out.message != nullptr) out.message->done = *moved = true;
        peer.outgoing.pop_front();
    }
    return {};
}

Status HostTransport::received(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    if (!peer.gone && !peer.held && peer.head_request == nullptr) RINGRT_TRY(post_head(rank));
    while (!peer.gone && !peer.held) {
        bool here = false;
        RINGRT_TRY(test(rank, &peer.head_request, &here));
        if (!here) break;
        if (peer.head->frame.kind == kData) *moved = true;
        RINGRT_TRY(open_head(rank));
    }
    if (peer.held) RINGRT_TRY(find_message(rank));
    while (!peer.incoming.empty()) {
        bool here = false;
        RINGRT_TRY(test(rank, &peer.incoming.front().request, &here));
        if (!here) break;
        peer.incoming.front().message->done = *moved = true;
        peer.early.settle();
        peer.incoming.pop_front();
        self_.pass_fault_point();
    }
    return {};
}

Status HostTransport::progress(int sleep_ms, bool *moved) {
    constexpr auto kBusy = std::chrono::microseconds(200);
    for (auto start = Clock::now();;) {
        for (int r = 0; r < self_.size; ++r) {
            if (r == self_.rank) continue;
            RINGRT_TRY(sent(r, moved));
            RINGRT_TRY(received(r, moved));
        }
        if (*moved) wait_chain_.moved();
        auto waited = Clock::now() - start;
        if (*moved || waited >= std::chrono::milliseconds(sleep_ms)) return {};
        // There is no blocking wait on MPI here: yield first, then sleep briefly.
        if (waited < kBusy)
            sched_yield();
        else
            std::this_thread::sleep_for(std::min<Clock::duration>(waited / 4, kBusy));
    }
}

int HostTransport::first_outstanding() const {
    for (int r = 0; r < self_.size; ++r) {
        const Peer &peer = peers_[size_t(r)];
        if (!peer.expected.empty() || !peer.incoming.empty()) return r;
    }
    for (int r = 0; r < self_.size; ++r) {
        if (!peers_[size_t(r)].outgoing.empty()) return r;
    }
    return -1;
}

Status HostTransport::waiting(int peer, int *blame) {
    if (peer < 0) peer = first_outstanding();
    *blame = wait_chain_.blame(peer);
    if (!wait_chain_.due(*blame)) return {};
    for (int r = 0; r < self_.size; ++r) {
        if (r == self_.rank || r == peer || peers_[size_t(r)].gone) continue;
        if (!peers_[size_t(r)].outgoing.empty()) continue;
        RINGRT_TRY(
            send_out(r, nullptr, {.kind = kWaiting, .call = call_, .segment = uint32_t(peer)}, {}));
    }
    return {};
}

void HostTransport::notify_abort(int failed_rank, const Status &why) {
    if (sent_notice_) return;
    sent_notice_ = true;
    clean_ = failed_rank < 0;
    AbortNotice said = make_abort_notice(failed_rank, why);
    Frame frame{.kind = kAbortNotice, .call = call_, .bytes = sizeof said};
    for (int r = 0; r < self_.size; ++r) {
        if (r == self_.rank || r == failed_rank) continue;
        for (auto &out : peers_[size_t(r)].outgoing) out->message = nullptr;
        (void)send_out(r, nullptr, frame, std::as_bytes(std::span(&said, 1)));
    }
    // A small message leaves at once if its receiver is alive.
    constexpr auto kMoment = std::chrono::milliseconds(300);
    for (auto start = Clock::now(); Clock::now() - start < kMoment;) {
        bool moved = false, left = false;
        for (int r = 0; r < self_.size; ++r) {
            if (!sent(r, &moved).ok()) peers_[size_t(r)].outgoing.clear();
            left |= !peers_[size_t(r)].outgoing.empty();
        }
        if (!left) break;
        sched_yield();
    }
    for (Peer &peer : peers_) {
        for (Incoming &each : peer.incoming) messenger_.cancel(messenger_.context, &each.request);
        peer.incoming.clear(), peer.expected.clear();
    }
}

}  // namespace

std::unique_ptr<Transport> make_host_transport(const RankContext &self,
                                               const ringrt_messenger_t &messenger) {
    return std::make_unique<HostTransport>(self, messenger);
}

}  // namespace ringrt
