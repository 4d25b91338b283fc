// SPDX-License-Identifier: BSD-3-Clause
// Messages of sends that come before their receives. They are kept only where this rank waits for
// something else of the same peer, which comes behind them; else they stay in the network.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "libringrt/transport/frame.h"

namespace ringrt {

class EarlyMessages {
  public:
    // Where one that begins to come is received. Call settle() when it is done.
    Message *keep(int rank, uint32_t slot, uint64_t bytes) {
        if (bytes > uint64_t{PTRDIFF_MAX}) throw std::bad_alloc();
        auto made = std::make_unique<Early>();
        made->bytes.reset(new std::byte[size_t(bytes)]);
        made->message = {.peer = rank, .slot = slot, .done = false};
        if (bytes > 0) made->message.pieces.emplace_back(made->bytes.get(), size_t(bytes));
        kept_.push_back(std::move(made));
        return &kept_.back()->message;
    }
    // True: the oldest of that slot is what `wanted` is for, and will be in it.
    Status claim(const RankContext &self, const OpHeader &call, Message *wanted, bool *claimed) {
        auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto &each) {
            return each->wanted == nullptr && each->message.slot == wanted->slot;
        });
        *claimed = found != kept_.end();
        if (!*claimed) return {};
        const size_t sent = (*found)->message.bytes();
        if (sent != wanted->bytes())
            return other_size(self, wanted->peer, sent, wanted->bytes(), call);
        (*found)->wanted = wanted;
        settle();
        return {};
    }
    // Those that have come and are wanted go where they belong.
    void settle() {
        for (auto each = kept_.begin(); each != kept_.end();) {
            Early &early = **each;
            if (early.wanted == nullptr || !early.message.done) {
                ++each;
                continue;
            }
            const std::byte *from = early.bytes.get();
            for (const auto &piece : early.wanted->pieces) {
                memcpy(piece.data(), from, piece.size());
                from += piece.size();
            }
            early.wanted->done = true;
            each = kept_.erase(each);
        }
    }
    // Something is to come into a receive that waits.
    [[nodiscard]] bool awaited() const {
        return std::any_of(kept_.begin(), kept_.end(),
                           [](const auto &each) { return each->wanted != nullptr; });
    }

  private:
    struct Early {
        Message message;
        Message *wanted = nullptr;
        std::unique_ptr<std::byte[]> bytes;
    };
    std::vector<std::unique_ptr<Early>> kept_;
};

}  // namespace ringrt
