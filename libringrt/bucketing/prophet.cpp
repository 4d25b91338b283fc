// SPDX-License-Identifier: BSD-3-Clause
// Prophet (Zhang et al., ICPP 2021) on a ring. When the gradients of a stage are ready, the most
// urgent ones that can be sent before the next stage is ready whole go as one block; the rest waits
// for the next stage. After the last stage, blocks of at most a window go strictly by priority. No
// barrier.
//
// Repaired against the authors' code: gradients may become ready in any order, the budget is time
// and not a batch divided by 64, the transfer time has its start-up, the last stage's window is
// tuned.
#include <algorithm>
#include <array>
#include <set>

#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/stages.h"

namespace ringrt::bucketing {
namespace {

constexpr std::array kWindowsMiB = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

// The most urgent of `waiting` that take at most `budget_us` together; whole gradients, in priority
// order, as long as they fit.
Block take(const Profile &profile, const Network &network, std::set<uint32_t> &waiting,
           double budget_us) {
    Block block{.phase = Phase::allreduce};
    double bytes = 0;
    while (!waiting.empty()) {
        const uint32_t id = *waiting.begin();
        bytes += static_cast<double>(profile.gradients[id].bytes);
        if (2 * network.phase_us(bytes) > budget_us) break;
        block.pieces.push_back({id, 0, profile.gradients[id].bytes});
        waiting.erase(waiting.begin());
    }
    return block;
}

void send_rest(const Profile &profile, const std::set<uint32_t> &waiting, uint64_t window_bytes,
               Plan &plan) {
    uint64_t filled = window_bytes;
    for (uint32_t id : waiting) {
        const uint64_t bytes = profile.gradients[id].bytes;
        if (filled + bytes > window_bytes) {
            plan.blocks.push_back({.phase = Phase::allreduce});
            filled = 0;
        }
        plan.blocks.back().pieces.push_back({id, 0, bytes});
        filled += bytes;
    }
}

// The blocks before the last stage; `waiting` gets what is left for it.
Plan before_last_stage(const Profile &profile, const Network &network,
                       std::set<uint32_t> &waiting) {
    Plan plan;
    const std::vector<uint32_t> order = ready_order(profile);
    std::vector<double> ready;
    for (uint32_t id : order) ready.push_back(profile.gradients[id].ready_us);
    const std::vector<uint32_t> stages = detect_stages(ready);
    for (size_t s = 0; s < stages.size(); ++s) {
        const size_t end = s + 1 < stages.size() ? stages[s + 1] : order.size();
        waiting.insert(order.begin() + stages[s], order.begin() + static_cast<ptrdiff_t>(end));
        if (end == order.size()) break;
        const size_t next_end = s + 2 < stages.size() ? stages[s + 2] : order.size();
        Block block = take(profile, network, waiting, ready[next_end - 1] - ready[end - 1]);
        if (!block.pieces.empty()) plan.blocks.push_back(std::move(block));
    }
    return plan;
}

}  // namespace

Plan prophet(const Profile &profile, const Network &network) {
    std::set<uint32_t> waiting;
    const Plan start = before_last_stage(profile, network, waiting);
    BestPlan best(profile, network);
    for (int mib : kWindowsMiB) {
        Plan plan = start;
        send_rest(profile, waiting, static_cast<uint64_t>(mib) * kMiB, plan);
        best.offer(std::move(plan));
    }
    return best.take();
}

}  // namespace ringrt::bucketing
