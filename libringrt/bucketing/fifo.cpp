// SPDX-License-Identifier: BSD-3-Clause
// One allreduce per gradient in ready order, then a barrier, like a plain loop.
#include "libringrt/bucketing/rules.h"

namespace ringrt::bucketing {

Plan fifo(const Profile &profile, const Network &) {
    Plan plan{.barrier = true};
    for (uint32_t id : ready_order(profile)) {
        plan.blocks.push_back(whole_block(profile, Phase::allreduce, {id}));
    }
    return plan;
}

}  // namespace ringrt::bucketing
