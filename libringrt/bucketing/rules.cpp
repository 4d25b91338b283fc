// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/rules.h"

#include <algorithm>
#include <array>

namespace ringrt::bucketing {
namespace {

constexpr std::array kRules = {
    Rule{"fifo", "one allreduce per gradient as it becomes ready, then a barrier", fifo},
    Rule{"ddp", "buckets of 25 MiB, the first 1 MiB, in ready order, then a barrier", ddp},
    Rule{"fusion", "whatever is ready at each cycle, up to a buffer (tuned), then a barrier",
         fusion},
    Rule{"mgwfbp", "merges a gradient into the next where that hides a start-up, then a barrier",
         mgwfbp},
    Rule{"tictac", "whole gradients by priority, one by one: TicTac's order on both phases",
         tictac},
    Rule{"p3", "slices of 200 KB by priority, one by one: P3 as it ships", p3},
    Rule{"bytescheduler", "partitions of 4 MB by priority, 16 MB under way: its defaults",
         bytescheduler},
    Rule{"priority", "partitions (tuned) by priority in a window of credit (tuned)", priority},
    Rule{"dear", "reduce-scatter backward, all-gather forward, equal buckets (tuned)", dear},
    Rule{"prophet", "partitions of 4 MB in blocks that fit the gaps between stages, then windows",
         prophet},
    Rule{"predictive", "ringrt's: slots of both phases fitted to the gaps, filled by priority",
         predictive},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

std::string rule_names() {
    std::string names;
    for (const Rule &rule : kRules) {
        if (&rule == &kRules.back()) return names + " or " + std::string(rule.name);
        names += (names.empty() ? "" : ", ") + std::string(rule.name);
    }
    return names;
}

const Rule *find_rule(std::string_view name) {
    for (const Rule &rule : kRules) {
        if (rule.name == name) return &rule;
    }
    return nullptr;
}

BestPlan::BestPlan(const Profile &profile, const Network &network)
    : profile_(profile), network_(network) {
    const std::vector<uint32_t> order = ready_order(profile);
    if (order.empty()) return;
    const double first_ready_us = profile.gradients[order.front()].ready_us;
    const double last_forward_us = forward_left_us(profile)[std::ranges::max(order)];
    const double us_per_byte = network.phases_held() * network.us_per_byte();
    without_start_ups_us_ =
        first_ready_us + static_cast<double>(total_bytes(profile)) * us_per_byte + last_forward_us;
}

bool BestPlan::can_improve(uint64_t blocks) const {
    if (best_us_ < 0) return true;
    const double start_ups_us = static_cast<double>(blocks) * network_.held_us(0);
    return (without_start_ups_us_ + start_ups_us) * (1 - 1e-9) < best_us_;
}

void BestPlan::offer(Plan plan) {
    simulate(profile_, network_, plan, timeline_);
    if (best_us_ >= 0 && timeline_.iteration_us >= best_us_) return;
    best_us_ = timeline_.iteration_us;
    best_ = std::move(plan);
}

}  // namespace ringrt::bucketing
