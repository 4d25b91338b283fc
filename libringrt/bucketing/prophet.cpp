// SPDX-License-Identifier: BSD-3-Clause
// Prophet (Zhang et al., ICPP 2021) on a ring, with its authors' partitions (BytePS cuts at
// 4,096,000 bytes). When the gradients of a stage are ready, one block sends as many of the most
// urgent partitions as may start before the whole next stage is ready. The rest waits for that
// stage. (Only partitions that also end before would leave each gap shorter than a partition idle.)
// After the last stage, which makes gradient 0 ready, partitions go strictly by priority, a window
// at a time. No barrier.
//
// Corrected relative to the authors' code: gradients may become ready in any order; the budget is
// time, not a batch divided by 64; the transfer time includes the start-up; the last stage's window
// is tuned.
#include <algorithm>
#include <array>

#include "libringrt/bucketing/partition_queue.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/stages.h"

namespace ringrt::bucketing {
namespace {

constexpr uint64_t kPartitionBytes = 4'096'000;  // a multiple of every element's size
constexpr std::array<uint64_t, 8> kWindows = {1, 2, 4, 8, 16, 32, 64, 128};  // partitions

// Bytes that the link can send through both phases in `budget_us`.
uint64_t bytes_within(const Network &network, double budget_us) {
    const double phase_us = budget_us / network.phases_held();
    const double bytes = (phase_us - network.phase_alpha_us()) / network.us_per_byte();
    return bytes >= 1 ? static_cast<uint64_t>(std::min(bytes, 1e15)) : 0;
}

// The blocks before the last stage; the remaining partitions stay in `queue`.
Plan before_last_stage(const Profile &profile, const Network &network, uint64_t partition,
                       PartitionQueue &queue) {
    Plan plan;
    const std::vector<uint32_t> order = ready_order(profile);
    std::vector<double> ready;
    for (uint32_t id : order) ready.push_back(profile.gradients[id].ready_us);
    const std::vector<uint32_t> stages = detect_stages(ready);
    double link_free_us = 0;
    for (size_t s = 0; s < stages.size(); ++s) {
        const size_t end = s + 1 < stages.size() ? stages[s + 1] : order.size();
        for (size_t i = stages[s]; i < end; ++i) queue.insert(order[i]);
        if (end == order.size()) break;
        const size_t next_end = s + 2 < stages.size() ? stages[s + 2] : order.size();
        const double start_us = std::max(ready[end - 1], link_free_us);
        const uint64_t budget = bytes_within(network, ready[next_end - 1] - start_us);
        if (budget == 0 || queue.empty()) continue;
        link_free_us = start_us + queue.send_window(network, partition, budget, plan);
    }
    return plan;
}

}  // namespace

void offer_prophet(const Profile &profile, const Network &network, BestPlan &best) {
    const uint64_t partition = partition_of(profile, kPartitionBytes, kMostPartitions);
    PartitionQueue left(profile);
    const Plan start = before_last_stage(profile, network, partition, left);
    uint64_t left_bytes = total_bytes(profile);
    for (const Block &block : start.blocks) left_bytes -= block_bytes(block);
    for (const uint64_t partitions : kWindows) {
        const uint64_t window = partition * partitions;
        // A window is exceeded by less than one partition.
        if (!best.can_improve(start.blocks.size() + left_bytes / (window + partition))) continue;
        Plan plan = start;
        for (PartitionQueue queue = left; !queue.empty();)
            queue.send_window(network, partition, window, plan);
        best.offer(std::move(plan));
    }
}

Plan prophet(const Profile &profile, const Network &network) {
    BestPlan best(profile, network);
    offer_prophet(profile, network, best);
    return best.take();
}

}  // namespace ringrt::bucketing
