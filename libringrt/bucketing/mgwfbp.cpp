// SPDX-License-Identifier: BSD-3-Clause
// MG-WFBP (Shi et al., INFOCOM 2019): in ready order, a gradient is merged into the next if its
// allreduce could not start before the next is ready, or if waiting for the next costs less than
// one start-up. Then a barrier.
#include <algorithm>

#include "libringrt/bucketing/rules.h"

namespace ringrt::bucketing {

Plan mgwfbp(const Profile &profile, const Network &network) {
    Plan plan{.barrier = true};
    double link_free = 0, group_start = 0;  // group_start: when the open group could start
    std::vector<uint32_t> group;
    double group_bytes = 0;
    const double start_up_us = network.phases_held() * network.phase_alpha_us();
    const auto close = [&] {
        link_free = group_start + network.held_us(group_bytes);
        plan.blocks.push_back(whole_block(profile, Phase::allreduce, std::move(group)));
        group.clear();
        group_bytes = 0;
    };
    for (uint32_t id : ready_order(profile)) {
        const double ready = profile.gradients[id].ready_us;
        const double wait_us = ready - group_start;  // <= 0: it could not have started earlier
        if (!group.empty() && wait_us > 0 && wait_us >= start_up_us) close();
        group.push_back(id);
        group_bytes += static_cast<double>(profile.gradients[id].bytes);
        group_start = std::max(link_free, ready);
    }
    if (!group.empty()) close();
    return plan;
}

}  // namespace ringrt::bucketing
