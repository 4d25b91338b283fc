// SPDX-License-Identifier: BSD-3-Clause
// Horovod (Sergeev and Del Balso, 2018): at the end of every cycle it fuses the ready gradients up
// to a buffer's size and sends the buffers in order; then a barrier. Its autotuner picks the buffer
// and the cycle; the grid below replaces it.
#include <algorithm>
#include <array>

#include "libringrt/bucketing/rules.h"

namespace ringrt::bucketing {
namespace {

constexpr std::array kBuffersMiB = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr std::array kCyclesUs = {1e3, 2.5e3, 5e3, 10e3, 25e3, 50e3, 100e3};

// The next multiple of the cycle, counted from the end of the last transfer, at which a gradient is
// ready.
double next_cycle(double last_end_us, double ready_us, double cycle_us) {
    double at = last_end_us + cycle_us;
    while (at < ready_us) at += cycle_us;
    return at;
}

Plan fuse(const Profile &profile, const std::vector<uint32_t> &order, const Network &network,
          uint64_t buffer_bytes, double cycle_us) {
    Plan plan{.barrier = true};
    double now = 0;
    for (size_t next = 0; next < order.size();) {
        now = next_cycle(now, profile.gradients[order[next]].ready_us, cycle_us);
        const double cycle_start = now;
        while (next < order.size() && profile.gradients[order[next]].ready_us <= cycle_start) {
            Block block{.phase = Phase::allreduce, .not_before_us = cycle_start};
            uint64_t filled = 0;
            for (; next < order.size(); ++next) {
                const Gradient &gradient = profile.gradients[order[next]];
                const bool fits = filled == 0 || filled + gradient.bytes <= buffer_bytes;
                if (gradient.ready_us > cycle_start || !fits) break;
                block.pieces.push_back({order[next], 0, gradient.bytes});
                filled += gradient.bytes;
            }
            now += network.held_us(static_cast<double>(filled));
            plan.blocks.push_back(std::move(block));
        }
    }
    return plan;
}

}  // namespace

Plan fusion(const Profile &profile, const Network &network) {
    const std::vector<uint32_t> order = ready_order(profile);
    BestPlan best(profile, network);
    for (int mib : kBuffersMiB) {
        for (double cycle_us : kCyclesUs) {
            best.offer(fuse(profile, order, network, static_cast<uint64_t>(mib) * kMiB, cycle_us));
        }
    }
    return best.take();
}

}  // namespace ringrt::bucketing
