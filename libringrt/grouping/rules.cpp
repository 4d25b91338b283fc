// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/grouping/rules.h"

#include <array>

#include "libringrt/grouping/timeline.h"

namespace ringrt::grouping {
namespace {

constexpr std::array kRules = {
    Rule{"fifo", "one allreduce per gradient as it becomes ready, then a barrier", fifo},
    Rule{"ddp", "buckets of 25 MiB, the first 1 MiB, in ready order, then a barrier", ddp},
    Rule{"fusion", "whatever is ready at each cycle, up to a buffer (tuned), then a barrier",
         fusion},
    Rule{"mgwfbp", "merges a gradient into the next where that hides a start-up, then a barrier",
         mgwfbp},
    Rule{"priority", "partitions (tuned) by priority in a window of credit (tuned)", priority},
    Rule{"dear", "reduce-scatter backward, all-gather forward, equal buckets (tuned)", dear},
    Rule{"prophet", "blocks that fit the predicted gap between the stages of the backward pass",
         prophet},
    Rule{"predictive", "ours: slots of both phases fitted to the gaps, filled by priority",
         predictive},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

const Rule *find_rule(std::string_view name) {
    for (const Rule &rule : kRules) {
        if (rule.name == name) return &rule;
    }
    return nullptr;
}

Plan best_plan(const Profile &profile, const Network &network, std::vector<Plan> plans) {
    Plan best;
    double best_us = -1;
    for (Plan &plan : plans) {
        const double iteration_us = simulate(profile, network, plan).iteration_us;
        if (best_us >= 0 && iteration_us >= best_us) continue;
        best_us = iteration_us;
        best = std::move(plan);
    }
    return best;
}

}  // namespace ringrt::grouping
