// SPDX-License-Identifier: BSD-3-Clause
// Priority with partitions and credit (P3, MLSys 2019; ByteScheduler, SOSP 2019). Gradients are cut
// into partitions. Whenever the window of credit is free, it is filled with the most urgent ready
// partitions. No barrier. Partitions in the window cannot be preempted and share one start-up: the
// latencies of concurrent transfers overlap.
//   tictac         whole gradients, one by one (TicTac, MLSys 2019; there of a server's parameters)
//   p3             slices of 50,000 fp32 elements, one by one, each with its start-up
//   bytescheduler  partitions of 4 MB, a credit of 16 MB: its defaults
//   priority       both tuned: partition and credit from a grid; a credit of one is P3
#include <algorithm>
#include <array>

#include "libringrt/bucketing/partition_queue.h"
#include "libringrt/bucketing/rules.h"

namespace ringrt::bucketing {
namespace {

constexpr std::array kPartitionsKiB = {256, 1024, 4096, 16384, 65536};
constexpr std::array kCredits = {1, 2, 4, 8, 16, 32};  // partitions in the window
constexpr uint64_t kP3Bytes = 200'000, kOneByOne = 1;
constexpr uint64_t kByteSchedulerBytes = 4'000'000, kByteSchedulerCredit = 16'000'000;

Plan by_priority(const Profile &profile, const std::vector<uint32_t> &order, const Network &network,
                 uint64_t partition, uint64_t credit) {
    Plan plan;
    PartitionQueue queue(profile);
    auto ready_us = [&](size_t i) { return profile.gradients[order[i]].ready_us; };
    size_t next = 0;  // the first that is not ready yet
    for (double now = 0; next < order.size() || !queue.empty();) {
        for (; next < order.size() && ready_us(next) <= now; ++next) queue.insert(order[next]);
        if (queue.empty()) {
            now = ready_us(next);
            continue;
        }
        now += queue.send_window(network, partition, credit, plan);
    }
    return plan;
}

}  // namespace

Plan tictac(const Profile &profile, const Network &network) {
    return by_priority(profile, ready_order(profile), network, kMaxGradientBytes, kOneByOne);
}

Plan p3(const Profile &profile, const Network &network) {
    const uint64_t slice = partition_of(profile, kP3Bytes, kMostPartitions);
    return by_priority(profile, ready_order(profile), network, slice, kOneByOne);
}

void offer_p3(const Profile &profile, const Network &network, BestPlan &best) {
    const uint64_t slice = partition_of(profile, kP3Bytes, kMostPartitions);
    if (best.can_improve(total_bytes(profile) / slice)) best.offer(p3(profile, network));
}

Plan bytescheduler(const Profile &profile, const Network &network) {
    const uint64_t partition = partition_of(profile, kByteSchedulerBytes, kMostPartitions);
    return by_priority(profile, ready_order(profile), network, partition,
                       std::max(kByteSchedulerCredit, partition));
}

void offer_priority(const Profile &profile, const Network &network, BestPlan &best) {
    const std::vector<uint32_t> order = ready_order(profile);
    const uint64_t bytes = total_bytes(profile);
    for (int kib : kPartitionsKiB) {
        for (int credit : kCredits) {
            const uint64_t partition =
                partition_of(profile, static_cast<uint64_t>(kib) << 10, 4096);
            const uint64_t window = partition * static_cast<uint64_t>(credit);
            // A window is exceeded by less than one partition.
            if (!best.can_improve(bytes / (window + partition))) continue;
            best.offer(by_priority(profile, order, network, partition, window));
        }
    }
}

Plan priority(const Profile &profile, const Network &network) {
    BestPlan best(profile, network);
    offer_priority(profile, network, best);
    return best.take();
}

}  // namespace ringrt::bucketing
