// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/row_exchange.h"

#include <algorithm>
#include <cstring>

#include "libringrt/checkpoint/staging.h"

namespace ringrt::live {
namespace {

// The chunks of host memory are exchanged together, up to the next one that is on a GPU. All ranks
// have the same order, so the first chunk that is not yet exchanged is the next one at both ranks.
class Mover {
  public:
    explicit Mover(Communicator &over) : over_(over) {}

    Status move(const RowLeg &leg, uint64_t at) {
        const uint64_t bytes = std::min(kChunkBytes, leg.bytes - at);
        std::byte *from = leg.from.data ? leg.from.data + at : nullptr;
        std::byte *to = leg.to.data ? leg.to.data + at : nullptr;
        if (!leg.from.on_device && !leg.to.on_device) {
            if (from && to)
                std::memcpy(to, from, bytes);
            else
                messages_.push_back({from != nullptr, from ? from : to, bytes, leg.peer});
            return {};
        }
        RINGRT_TRY(flush());
        std::byte *half = half_for(leg.from.on_device ? *leg.from.on_device : *leg.to.on_device);
        if (from) copy(leg.from.on_device, half, from, bytes);
        if (!from || !to) {
            messages_.push_back({from != nullptr, half, bytes, leg.peer});
            RINGRT_TRY(flush());
        }
        if (to) copy(leg.to.on_device, to, half, bytes);
        return {};
    }
    Status finish() {
        RINGRT_TRY(flush());
        return gpu_;
    }

  private:
    Status flush() {
        const ringrt_status_t code = over_.exchange(messages_);
        messages_.clear();
        return over_.outcome(code);
    }
    std::byte *half_for(const checkpoint::Buffer &buffer) {
        if (gpu_.ok()) gpu_ = staging_.open(buffer, kChunkBytes);
        if (gpu_.ok()) return staging_.half();
        scratch_.resize(kChunkBytes);  // the peer still waits for the bytes
        return scratch_.data();
    }
    void copy(const checkpoint::Buffer *on_device, std::byte *out, const std::byte *in,
              uint64_t bytes) {
        if (!gpu_.ok()) return;
        if (!on_device) {
            std::memcpy(out, in, bytes);
            return;
        }
        gpu_ = staging_.start_copy(*on_device, out, in, bytes);
        if (gpu_.ok()) gpu_ = staging_.wait();
    }

    Communicator &over_;
    std::vector<PointToPoint> messages_;
    checkpoint::Staging staging_;
    std::vector<std::byte> scratch_;
    Status gpu_;
};

}  // namespace

RowSpan common(const RowSpan &a, const RowSpan &b) {
    const uint64_t first = std::max(a.first, b.first);
    const uint64_t end = std::min(a.first + a.count, b.first + b.count);
    return {first, end > first ? end - first : 0};
}

std::vector<RowPart> parts_of(const std::vector<RowSpan> &held, const std::vector<RowSpan> &fresh,
                              int rank) {
    std::vector<RowPart> out;
    const auto self = static_cast<size_t>(rank);
    auto add = [&](size_t from, size_t to) {
        const RowSpan rows = common(held[from], fresh[to]);
        if (rows.count == 0) return;
        out.push_back({.send = from == self,
                       .receive = to == self,
                       .peer = static_cast<int>(from == self ? to : from),
                       .first = rows.first,
                       .count = rows.count});
    };
    for (size_t from = 0; from < held.size(); ++from) {
        if (from != self) add(from, self);
        for (size_t to = 0; from == self && to < fresh.size(); ++to) add(from, to);
    }
    return out;
}

Status exchange_rows(Communicator &over, const std::vector<RowLeg> &legs) {
    Mover mover(over);
    for (const RowLeg &leg : legs)
        for (uint64_t at = 0; at < leg.bytes; at += kChunkBytes) RINGRT_TRY(mover.move(leg, at));
    return mover.finish();
}

}  // namespace ringrt::live
