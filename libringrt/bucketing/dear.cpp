// SPDX-License-Identifier: BSD-3-Clause
// DeAR (Zhang et al., ICDCS 2023): buckets are reduce-scattered in ready order during the backward
// pass and all-gathered in reverse, as the next forward pass needs them. The end of the backward
// pass is the only barrier. The bucket size is tuned, as by its authors.
#include <algorithm>
#include <array>

#include "libringrt/bucketing/buckets.h"
#include "libringrt/bucketing/rules.h"

namespace ringrt::bucketing {
namespace {

constexpr std::array kBucketsKiB = {64,    256,   512,   1024,  2048,   4096,   8192,   16384,
                                    25600, 32768, 51200, 65536, 131072, 262144, 1048576};

Plan in_buckets(const Profile &profile, std::vector<std::vector<uint32_t>> buckets) {
    Plan plan;
    for (const auto &ids : buckets) {
        plan.blocks.push_back(whole_block(profile, Phase::reduce_scatter, ids));
    }
    // The bucket with the first layer is gathered first.
    std::ranges::stable_sort(buckets, {}, [](const auto &ids) { return std::ranges::min(ids); });
    const double backward_end_us = backward_us(profile);
    for (auto &ids : buckets) {
        Block block = whole_block(profile, Phase::all_gather, std::move(ids));
        block.not_before_us = backward_end_us;
        plan.blocks.push_back(std::move(block));
    }
    return plan;
}

}  // namespace

void offer_dear(const Profile &profile, const Network & /*network*/, BestPlan &best) {
    const std::vector<uint32_t> order = ready_order(profile);
    for (int kib : kBucketsKiB) {
        const uint64_t bytes = static_cast<uint64_t>(kib) << 10;
        auto buckets = buckets_in_ready_order(profile, order, bytes, bytes);
        if (best.can_improve(buckets.size())) best.offer(in_buckets(profile, std::move(buckets)));
    }
}

Plan dear(const Profile &profile, const Network &network) {
    BestPlan best(profile, network);
    offer_dear(profile, network, best);
    return best.take();
}

}  // namespace ringrt::bucketing
