// SPDX-License-Identifier: BSD-3-Clause
// In which order a pass takes up the jobs. It makes a limited number of updates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <vector>

#include "slurm_plugin/controller/decision.h"

namespace ringrt::controller {

// Shrinks first, because growths need the GPUs that they free. Then by gain. Last the jobs that
// stay paused: the start times of thousands are renewed in many passes, and nobody waits for those.
[[nodiscard]] inline std::vector<std::size_t> order_of_work(const std::vector<MalleableJob> &jobs,
                                                            const Plan &plan) {
    std::vector<std::size_t> order(plan.targets.size());
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [&](std::size_t i) {
        const Target &target = plan.targets[i];
        const bool stays = jobs[i].stage == Stage::paused && target.allotment.gpus == 0;
        const double gain = target.is_growth() ? target.allotment.gain_s_per_gpu : 0;
        return std::tuple(stays, target.is_growth(), -gain);
    };
    std::ranges::stable_sort(order, {}, rank);
    return order;
}

}  // namespace ringrt::controller
