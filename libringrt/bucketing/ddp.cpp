// SPDX-License-Identifier: BSD-3-Clause
// PyTorch DistributedDataParallel (Li et al., VLDB 2020): buckets in ready order, each closed by
// the gradient that fills it. The first is small, so that communication starts early. Then a
// barrier.
#include "libringrt/bucketing/buckets.h"
#include "libringrt/bucketing/rules.h"

namespace ringrt::bucketing {

Plan ddp(const Profile &profile, const Network &) {
    Plan plan{.barrier = true};
    for (auto &ids : buckets_in_ready_order(profile, ready_order(profile), kMiB, 25 * kMiB)) {
        plan.blocks.push_back(whole_block(profile, Phase::allreduce, std::move(ids)));
    }
    return plan;
}

}  // namespace ringrt::bucketing
