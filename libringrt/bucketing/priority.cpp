// SPDX-License-Identifier: BSD-3-Clause
// Priority with partitions and credit (P3, MLSys 2019; ByteScheduler, SOSP 2019): gradients are cut
// into partitions; whenever the window of credit is free it is filled with the most urgent
// partitions that are ready. No barrier. What is in the window cannot be pre-empted, and shares one
// start-up: the latencies of transfers that are in flight together overlap. Partition and credit
// are tuned, as ByteScheduler does.
#include <algorithm>
#include <array>

#include "libringrt/bucketing/id_set.h"
#include "libringrt/bucketing/rules.h"

namespace ringrt::bucketing {
namespace {

constexpr std::array kPartitionsKiB = {256, 1024, 4096, 16384, 65536};
constexpr std::array kCredits = {1, 2, 4, 8, 16, 32};  // partitions in the window

struct Queue {
    const Profile &profile;
    const std::vector<uint32_t> &order;  // of readiness
    size_t next = 0;                     // in order: the first that is not ready yet
    IdSet waiting{profile.gradients.size()};
    std::vector<uint64_t> sent = std::vector<uint64_t>(profile.gradients.size());

    [[nodiscard]] bool done() const { return next == order.size() && waiting.empty(); }
    [[nodiscard]] double next_ready_us() const { return profile.gradients[order[next]].ready_us; }

    void release(double now) {
        for (; next < order.size() && next_ready_us() <= now; ++next) waiting.insert(order[next]);
    }

    Block window(uint64_t partition, uint64_t credit) {
        Block block{.phase = Phase::allreduce};
        uint64_t filled = 0;
        while (!waiting.empty() && filled < credit) {
            const uint32_t id = waiting.lowest();
            const uint64_t left = profile.gradients[id].bytes - sent[id];
            // A partition may start while any credit is left; those of one gradient as one piece.
            const uint64_t room = (credit - filled + partition - 1) / partition * partition;
            const uint64_t bytes = std::min(left, room);
            block.pieces.push_back({id, sent[id], bytes});
            sent[id] += bytes;
            filled += bytes;
            if (bytes == left) waiting.erase(id);
        }
        return block;
    }
};

Plan by_priority(const Profile &profile, const std::vector<uint32_t> &order, const Network &network,
                 uint64_t partition, uint64_t credit) {
    Plan plan;
    Queue queue{profile, order};
    for (double now = 0; !queue.done();) {
        queue.release(now);
        if (queue.waiting.empty()) {
            now = queue.next_ready_us();
            continue;
        }
        plan.blocks.push_back(queue.window(partition, credit));
        now += 2 * network.phase_us(static_cast<double>(block_bytes(plan.blocks.back())));
    }
    return plan;
}

}  // namespace

Plan priority(const Profile &profile, const Network &network) {
    const std::vector<uint32_t> order = ready_order(profile);
    BestPlan best(profile, network);
    // No more windows than that are worth trying: 4 GB gradients in 256 KiB windows are not.
    const uint64_t least = total_bytes(profile) / 4096;
    for (int kib : kPartitionsKiB) {
        for (int credit : kCredits) {
            const uint64_t partition = std::max<uint64_t>(static_cast<uint64_t>(kib) << 10, least);
            best.offer(by_priority(profile, order, network, partition,
                                   partition * static_cast<uint64_t>(credit)));
        }
    }
    return best.take();
}

}  // namespace ringrt::bucketing
