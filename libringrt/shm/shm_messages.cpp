// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/shm/shm_messages.h"

#include <algorithm>
#include <cstring>

#include "libringrt/shm/futex.h"

namespace ringrt {
namespace {

constexpr uint64_t kSlots = 8;
constexpr size_t kSlotBytes = 16 << 10;
constexpr int kSpins = 2000, kYields = 10;  // as at a gate

}  // namespace

// Slots [read, written) hold data that was sent and not yet received. Each side writes its own
// counter.
struct ShmMessages::Ring {
    struct Slot {
        uint64_t message_bytes;
        uint32_t slot, bytes;  // slot of the message; bytes in this ring slot
        std::byte data[kSlotBytes];
    };
    alignas(64) std::atomic<uint64_t> written;
    alignas(64) std::atomic<uint64_t> read;
    alignas(64) Slot slots[kSlots];
};

Status ShmMessages::make_ring(int rank) {
    Peer &peer = peers_[size_t(rank)];
    if (peer.out != nullptr) return {};
    void *memory = nullptr;
    Status made = memory_.alloc(sizeof(Ring), &memory);
    made.fatal = true;  // the receiver waits for it
    RINGRT_TRY(made);
    peer.out = static_cast<Ring *>(memory);  // zeroed by alloc
    memory_.ring(self_.rank, rank).store(memory_.offset_of(memory, sizeof(Ring)));
    return {};
}

// Like wake_sleepers(): a rank that announces its sleep after this fence sees all earlier stores.
void ShmMessages::wake(int rank) const {
    full_fence();
    std::atomic<uint32_t> &asleep = memory_.control_block(rank).asleep_for_message;
    if (asleep.load(std::memory_order_acquire) == 0) return;
    if (asleep.exchange(0) != 0) futex(&asleep, FUTEX_WAKE, 1, nullptr);
}

Status ShmMessages::send(Message *message) {
    self_.pass_fault_point();
    message->done = false;
    RINGRT_TRY(make_ring(message->peer));
    peers_[size_t(message->peer)].outgoing.push_back(message);
    bool moved = false;
    push(message->peer, &moved);
    return {};
}

Status ShmMessages::receive(Message *message) {
    Peer &peer = peers_[size_t(message->peer)];
    message->done = false;
    bool came = false;
    RINGRT_TRY(peer.early.claim(self_, call_, message, &came));
    if (!came) peer.expected.push_back(message);
    return {};
}

namespace {

// Calls `use` for bytes [first, first + bytes) of a message, once per contiguous piece.
template <class Use>
void each_piece(const Message &message, size_t first, size_t bytes, Use use) {
    size_t passed = 0;
    for (const auto &piece : message.pieces) {
        if (first >= piece.size()) {
            first -= piece.size();
            continue;
        }
        const size_t part = std::min(piece.size() - first, bytes - passed);
        if (part > 0) use(piece.data() + first, passed, part);
        passed += part, first = 0;
        if (passed == bytes) return;
    }
}

}  // namespace

void ShmMessages::push(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    bool wrote = false;
    while (!peer.outgoing.empty()) {
        Message &message = *peer.outgoing.front();
        const uint64_t at = peer.out->written.load(std::memory_order_relaxed);
        if (at - peer.out->read.load(std::memory_order_acquire) == kSlots) break;
        Ring::Slot &slot = peer.out->slots[at % kSlots];
        const size_t all = message.bytes(), part = std::min(kSlotBytes, all - peer.sent);
        slot.message_bytes = all, slot.slot = message.slot, slot.bytes = uint32_t(part);
        each_piece(message, peer.sent, part,
                   [&](const std::byte *from, size_t passed, size_t some) {
                       memcpy(slot.data + passed, from, some);
                   });
        peer.out->written.store(at + 1, std::memory_order_release);
        wrote = *moved = true;
        peer.sent += part;
        if (peer.sent < all) continue;
        message.done = true;
        peer.outgoing.pop_front();
        peer.sent = 0;
    }
    if (wrote) wake(rank);
}

// Finds the destination of a message whose first slot has arrived; if none is posted yet, keeps it.
Status ShmMessages::begin_message(int rank, uint32_t slot, uint64_t bytes) {
    Peer &peer = peers_[size_t(rank)];
    const Frame frame{.call = call_, .slot = slot, .bytes = bytes};
    RINGRT_TRY(match(self_, call_, rank, frame, &peer.expected, &peer.incoming));
    if (peer.incoming == nullptr) peer.incoming = peer.early.keep(rank, slot, bytes);
    peer.taken = 0;
    return {};
}

Status ShmMessages::pull(int rank, bool *moved) {
    Peer &peer = peers_[size_t(rank)];
    if (peer.in == nullptr) {
        const uint64_t offset = memory_.ring(rank, self_.rank).load(std::memory_order_acquire);
        if (offset == 0) return {};
        peer.in = reinterpret_cast<Ring *>(memory_.at(offset));
    }
    bool took = false;
    while (!peer.expected.empty() || peer.incoming != nullptr) {
        const uint64_t at = peer.in->read.load(std::memory_order_relaxed);
        if (at == peer.in->written.load(std::memory_order_acquire)) break;
        const Ring::Slot &slot = peer.in->slots[at % kSlots];
        if (peer.incoming == nullptr)
            RINGRT_TRY(begin_message(rank, slot.slot, slot.message_bytes));
        each_piece(*peer.incoming, peer.taken, slot.bytes,
                   [&](std::byte *to, size_t passed, size_t some) {
                       memcpy(to, slot.data + passed, some);
                   });
        peer.taken += slot.bytes;
        const bool whole = peer.taken >= slot.message_bytes;
        peer.in->read.store(at + 1, std::memory_order_release);
        took = *moved = true;
        if (!whole) continue;
        peer.incoming->done = true;
        peer.incoming = nullptr;
        peer.early.settle();
        self_.pass_fault_point();
    }
    if (took) wake(rank);
    return {};
}

Status ShmMessages::pass_all(bool *moved) {
    for (int rank = 0; rank < memory_.count(); ++rank) {
        if (rank == self_.rank) continue;
        if (!peers_[size_t(rank)].outgoing.empty()) push(rank, moved);
        RINGRT_TRY(pull(rank, moved));
    }
    return {};
}

void ShmMessages::sleep(int sleep_ms, bool *moved, Status *met) {
    std::atomic<uint32_t> &asleep = memory_.control_block(memory_.index()).asleep_for_message;
    asleep.store(1, std::memory_order_seq_cst);
    full_fence();
    *met = pass_all(moved);
    const timespec timeout{.tv_sec = 0, .tv_nsec = sleep_ms * 1000000L};
    if (!*moved && met->ok()) futex(&asleep, FUTEX_WAIT, 1, &timeout);
    asleep.store(0, std::memory_order_relaxed);
}

Status ShmMessages::progress(int sleep_ms, bool *moved) {
    const bool crowded = memory_.oversubscribed();
    for (int i = 0; i < (crowded ? kYields : kSpins) && !*moved; ++i) {
        RINGRT_TRY(pass_all(moved));
        if (!*moved) crowded ? void(sched_yield()) : relax();
    }
    if (*moved || sleep_ms == 0) return {};
    Status met;
    const auto start = Clock::now();
    sleep(sleep_ms, moved, &met);
    RINGRT_TRY(met);
    const bool slept = Clock::now() - start >= std::chrono::milliseconds(sleep_ms);
    return slept ? memory_.check_peers(call_) : Status{};
}

Status ShmMessages::waiting(int, int *blame) {
    *blame = -1;
    for (size_t rank = 0; rank < peers_.size() && *blame < 0; ++rank) {
        const Peer &peer = peers_[rank];
        if (!peer.expected.empty() || peer.incoming != nullptr || !peer.outgoing.empty() ||
            peer.early.awaited())
            *blame = int(rank);
    }
    return {};
}

void ShmMessages::notify_abort(int, const Status &) {
    for (Peer &peer : peers_) {  // these messages end with the operation
        peer.outgoing.clear();
        peer.expected.clear();
        peer.incoming = nullptr;
    }
}

}  // namespace ringrt
