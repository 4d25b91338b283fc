// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives: several messages between this rank and others that progress at the same time.
#include <algorithm>
#include <cstring>

#include "libringrt/collective/checks.h"
#include "libringrt/collective/communicator_impl.h"

namespace ringrt {
namespace {

constexpr size_t kPieceMost = size_t{1} << 30;  // MPI counts a piece in an int

Status check_messages(const std::vector<PointToPoint> &messages, int ranks) {
    for (const PointToPoint &each : messages) {
        if (each.peer < 0 || each.peer >= ranks)
            return {RINGRT_INVALID_ARGUMENT, "peer is not a rank"};
        if (each.tag < 0) return {RINGRT_INVALID_ARGUMENT, "tag: expected 0 or more"};
        if (each.bytes > 0 && each.data == nullptr)
            return {RINGRT_INVALID_ARGUMENT, "send or recv is NULL"};
    }
    return {};
}

// Matches messages to this rank itself: each receive takes the first remaining send with its tag.
Status pass_to_itself(std::vector<PointToPoint> *messages, int self, bool copies) {
    auto next = [&](bool send, int tag, size_t from) {
        for (; from < messages->size(); ++from) {
            const PointToPoint &each = (*messages)[from];
            if (each.peer == self && each.send == send && (tag < 0 || each.tag == tag)) break;
        }
        return from;
    };
    std::vector<PointToPoint> left = *messages;
    std::erase_if(left, [&](const PointToPoint &each) { return each.peer == self; });
    for (size_t at = next(false, -1, 0); at < messages->size(); at = next(false, -1, 0)) {
        const PointToPoint to = (*messages)[at];
        const size_t from = next(true, to.tag, 0);
        if (from == messages->size() || (*messages)[from].bytes != to.bytes)
            return {RINGRT_INVALID_ARGUMENT,
                    "a rank must send itself as many bytes as it receives from itself in the same "
                    "group"};
        if (copies && to.bytes > 0) memmove(to.data, (*messages)[from].data, to.bytes);
        messages->erase(messages->begin() + ptrdiff_t(std::max(at, from)));
        messages->erase(messages->begin() + ptrdiff_t(std::min(at, from)));
    }
    if (next(true, -1, 0) < messages->size())
        return {RINGRT_INVALID_ARGUMENT,
                "a rank must receive what it sends to itself in the same group"};
    *messages = std::move(left);
    return {};
}

Message message_of(const PointToPoint &each) {
    Message out{.peer = each.peer, .slot = uint32_t(each.tag)};
    auto *data = static_cast<std::byte *>(each.data);
    for (size_t passed = 0; passed < each.bytes; passed += kPieceMost)
        out.pieces.emplace_back(data + passed, std::min(kPieceMost, each.bytes - passed));
    return out;
}

}  // namespace

Status Communicator::Impl::exchange(std::vector<PointToPoint> wanted) {
    RINGRT_TRY(check_started(started));
    RINGRT_TRY(check_messages(wanted, self.size));
    std::vector<PointToPoint> tried = wanted;
    RINGRT_TRY(pass_to_itself(&tried, self.rank, false));  // rejected before anything is written
    RINGRT_TRY(pass_to_itself(&wanted, self.rank, true));
    if (wanted.empty()) return {};
    if (one_node() && shm_messages == nullptr)
        shm_messages = std::make_unique<ShmMessages>(self, *memory);
    Transport &by = one_node() ? *shm_messages : *transport;
    const OpHeader call{.number = calls, .kind = kPointToPoint, .count = wanted.size()};
    by.begin(call);
    std::vector<Message> all;  // must outlive the abort notice
    for (const PointToPoint &each : wanted) all.push_back(message_of(each));
    return concluded(self.rank, &by, [&]() -> Status {
        for (size_t i = 0; i < all.size(); ++i)
            if (!wanted[i].send) RINGRT_TRY(by.receive(&all[i]));
        for (size_t i = 0; i < all.size(); ++i)
            if (wanted[i].send) RINGRT_TRY(by.send(&all[i]));
        const std::string phase = describe(call);
        Deadline deadline(self, phase.c_str());
        auto over = [](const Message &each) { return each.done; };
        while (!std::all_of(all.begin(), all.end(), over)) {
            bool moved = false;
            RINGRT_TRY(by.progress(one_node() ? kSliceMs : deadline.slice_ms(), &moved));
            if (moved) {
                deadline.refresh();
                continue;
            }
            int silent = -1;
            RINGRT_TRY(by.waiting(-1, &silent));
            RINGRT_TRY(deadline.check(silent));
        }
        return {};
    });
}

ringrt_status_t Communicator::exchange(const std::vector<PointToPoint> &messages) {
    return impl_->guarded([&] { return impl_->exchange(messages); });
}

}  // namespace ringrt
