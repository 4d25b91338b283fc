// SPDX-License-Identifier: BSD-3-Clause
// Gradients that are ready and not all sent, cut into partitions, the most urgent first. PURE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "libringrt/bucketing/id_set.h"
#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/plan.h"

namespace ringrt::bucketing {

inline constexpr uint64_t kMostPartitions = 65536;

// `wanted` bytes, or more where a model has more than `most` of those, which are not worth
// planning. Those larger ones are multiples of 4 KiB, so that elements of every type stay whole.
inline uint64_t partition_of(const Profile &profile, uint64_t wanted, uint64_t most) {
    return std::max(wanted, (total_bytes(profile) / most + 4095) / 4096 * 4096);
}

class PartitionQueue {
  public:
    explicit PartitionQueue(const Profile &profile)
        : profile_(profile), waiting_(profile.gradients.size()), sent_(profile.gradients.size()) {}

    void insert(uint32_t id) { waiting_.insert(id); }
    [[nodiscard]] bool empty() const { return waiting_.empty(); }

    // As many partitions as may start while any of `credit` bytes is left, the last of a gradient
    // being shorter; those of one gradient as one piece.
    Block window(uint64_t partition, uint64_t credit) {
        Block block{.phase = Phase::allreduce};
        uint64_t filled = 0;
        while (!waiting_.empty() && filled < credit) {
            const uint32_t id = waiting_.lowest();
            const uint64_t left = profile_.gradients[id].bytes - sent_[id];
            const uint64_t room = (credit - filled + partition - 1) / partition * partition;
            const uint64_t bytes = std::min(left, room);
            block.pieces.push_back({id, sent_[id], bytes});
            sent_[id] += bytes, filled += bytes;
            if (bytes == left) waiting_.erase(id);
        }
        return block;
    }

    // Appends a window to the plan, while something waits: on a ring its partitions share one
    // start-up; to servers they go one by one, for the sum of the first comes back while the next
    // one goes. Returns how long it keeps the next window waiting.
    double send_window(const Network &network, uint64_t partition, uint64_t credit, Plan &plan) {
        Block block = window(partition, credit);
        if (!network.servers) {
            plan.blocks.push_back(std::move(block));
            return held_us(network, plan.blocks.back());
        }
        double us = 0;
        for (Piece piece : block.pieces) {
            for (uint64_t left = piece.bytes; left > 0; left -= piece.bytes) {
                piece.bytes = std::min(left, partition);
                plan.blocks.push_back({.phase = Phase::allreduce, .pieces = {piece}});
                piece.offset += piece.bytes;
                us += held_us(network, plan.blocks.back());
            }
        }
        return us;
    }

  private:
    static double held_us(const Network &network, const Block &block) {
        return network.held_us(static_cast<double>(block_bytes(block)));
    }

    const Profile &profile_;
    IdSet waiting_;
    std::vector<uint64_t> sent_;
};

}  // namespace ringrt::bucketing
