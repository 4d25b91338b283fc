// SPDX-License-Identifier: BSD-3-Clause
// Messages of sends that arrive before their receives. They are kept only if this rank waits for a
// later message of the same peer; otherwise they stay in the network.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "libringrt/transport/frame.h"

namespace ringrt {

class EarlyMessages {
  public:
    // Returns the buffer for a message that has started to arrive. Call settle() when it is done.
    Message *keep(int rank, uint32_t slot, uint64_t bytes) {
        if (bytes > uint64_t{PTRDIFF_MAX}) throw std::bad_alloc();
        auto made = std::make_unique<Early>();
        made->bytes.reset(new std::byte[size_t(bytes)]);
        made->message = {.peer = rank, .slot = slot, .done = false};
        if (bytes > 0) made->message.pieces.emplace_back(made->bytes.get(), size_t(bytes));
        kept_.push_back(std::move(made));
        return &kept_.back()->message;
    }
    // *claimed: the oldest message of that slot belongs to `wanted` and will be copied to it.
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
    // Copies messages that are complete and claimed to their destinations.
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
    // A receive waits for a message that is still arriving.
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
