// SPDX-License-Identifier: BSD-3-Clause
// Random divisions of rows among ranks, and whether ranks that send them wait for each other.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "libringrt/live/row_exchange.h"

namespace ringrt::test {

using live::RowSpan;

// Random cuts, in rank order or in another one; some ranks have no rows.
inline std::vector<RowSpan> layout(std::mt19937 &random, size_t ranks, size_t holders,
                                   uint64_t rows) {
    std::vector<uint64_t> cuts{0, rows};
    for (size_t i = 1; i < holders; ++i) cuts.push_back(random() % (rows + 1));
    std::ranges::sort(cuts);
    std::vector<RowSpan> out(ranks);
    std::vector<size_t> order(holders);
    for (size_t i = 0; i < holders; ++i) order[i] = i;
    if (random() % 2 == 0) std::ranges::shuffle(order, random);
    for (size_t i = 0; i < holders; ++i) out[order[i]] = {cuts[i], cuts[i + 1] - cuts[i]};
    return out;
}

struct Message {
    int from, to;
    uint64_t first, count;
    auto operator<=>(const Message &) const = default;
};

// Each rank waits in its first message until the peer is in the same one.
inline bool all_end(std::vector<std::vector<Message>> queues) {
    for (bool moved = true; moved;) {
        moved = false;
        for (auto &queue : queues) {
            if (queue.empty()) continue;
            const Message next = queue.front();
            auto &sender = queues[size_t(next.from)], &receiver = queues[size_t(next.to)];
            if (sender.empty() || receiver.empty() || sender.front() != receiver.front()) continue;
            sender.erase(sender.begin());
            receiver.erase(receiver.begin());
            moved = true;
        }
    }
    return std::ranges::all_of(queues, [](const auto &queue) { return queue.empty(); });
}

}  // namespace ringrt::test
