// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/stages.h"

#include <algorithm>

namespace ringrt::bucketing {
namespace {

constexpr double kEnterFactor = 2.0, kLeaveFactor = 1.5;
constexpr uint8_t kStepsToAgree = 3;

double mean_gap(std::span<const double> ready_us) {
    if (ready_us.size() < 2) return 0;
    return (ready_us.back() - ready_us.front()) / static_cast<double>(ready_us.size() - 1);
}

}  // namespace

std::vector<uint32_t> detect_stages(std::span<const double> ready_us, double gap_factor) {
    std::vector<uint32_t> stages;
    if (ready_us.empty()) return stages;
    stages.push_back(0);
    const double limit = gap_factor * mean_gap(ready_us);
    for (uint32_t i = 1; i < ready_us.size(); ++i) {
        if (ready_us[i] - ready_us[i - 1] > limit) stages.push_back(i);
    }
    return stages;
}

bool StageTracker::observe(std::span<const double> ready_us) {
    if (seen_.size() != ready_us.size()) {  // other gradients: start again
        stages_ = detect_stages(ready_us, kEnterFactor);
        seen_.assign(ready_us.size(), 0);
        return true;
    }
    const double mean = mean_gap(ready_us);
    bool changed = false;
    std::vector<uint32_t> next;
    if (!ready_us.empty()) next.push_back(0);
    for (uint32_t i = 1; i < ready_us.size(); ++i) {
        const bool was = std::ranges::binary_search(stages_, i);
        const bool is = ready_us[i] - ready_us[i - 1] > (was ? kLeaveFactor : kEnterFactor) * mean;
        seen_[i] = is == was ? 0 : static_cast<uint8_t>(seen_[i] + 1);
        const bool flips = seen_[i] >= kStepsToAgree;
        if (flips) seen_[i] = 0;
        changed |= flips;
        if (was != flips) next.push_back(i);
    }
    stages_ = std::move(next);
    return changed;
}

}  // namespace ringrt::bucketing
