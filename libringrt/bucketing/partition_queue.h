// SPDX-License-Identifier: BSD-3-Clause
// Ready gradients that are not fully sent, cut into partitions, most urgent first. PURE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "libringrt/bucketing/id_set.h"
#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/plan.h"

namespace ringrt::bucketing {

inline constexpr uint64_t kMostPartitions = 65536;

// `wanted` bytes, or more if that would cut a model into more than `most` partitions, too many to
// plan. Larger sizes are multiples of 4 KiB, so that elements of every type stay whole.
inline uint64_t partition_of(const Profile &profile, uint64_t wanted, uint64_t most) {
    return std::max(wanted, (total_bytes(profile) / most + 4095) / 4096 * 4096);
}

class PartitionQueue {
  public:
    explicit PartitionQueue(const Profile &profile)
        : profile_(profile), waiting_(profile.gradients.size()), sent_(profile.gradients.size()) {}

    void insert(uint32_t id) { waiting_.insert(id); }
    [[nodiscard]] bool empty() const { return waiting_.empty(); }

    // Takes partitions while any of `credit` bytes is left; a gradient's last partition may be
    // shorter. The partitions of one gradient form one piece.
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

    // Appends a window to the plan; some gradient must be waiting. On a ring, its partitions share
    // one start-up. With servers, they go one by one, because the first sum returns while the next
    // partition is sent. Returns how long the next window must wait.
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
