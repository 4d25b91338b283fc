// SPDX-License-Identifier: BSD-3-Clause
// Chooses the batch of a job that may adapt it: the one with the least time per progress.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/workload/profile.h"

namespace ringrt::sim {

struct BatchChoice {
    BatchPlan plan;
    double ms_per_progress = 0;
};

// Tries batches in a geometric series from the smallest that gives every GPU its minimum to the
// largest. `ms_per_progress(plan)` is the cost of a choice.
template <typename Cost>
[[nodiscard]] BatchChoice choose_batch(const BatchLimits &limits, int gpus, Cost ms_per_progress) {
    constexpr int kTries = 24;
    const int least = std::min(limits.total_max, std::max(limits.initial, limits.local_min * gpus));
    const double ratio = std::pow(double(limits.total_max) / least, 1.0 / kTries);
    BatchChoice best;
    double total = least;
    for (int i = 0; i <= kTries; ++i, total *= ratio) {
        if (i == kTries) total = limits.total_max;
        const BatchPlan plan = split_batch(limits, static_cast<int>(total), gpus);
        const double ms = ms_per_progress(plan);
        if (i == 0 || ms < best.ms_per_progress) best = {plan, ms};
        if (least == limits.total_max) break;
    }
    return best;
}

}  // namespace ringrt::sim
