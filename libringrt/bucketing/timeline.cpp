// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/timeline.h"

#include <algorithm>

namespace ringrt::bucketing {
namespace {

double start_of(const Block &block, const Profile &profile, double link_free_us) {
    double start = std::max(link_free_us, block.not_before_us);
    if (block.phase == Phase::all_gather) return start;  // reduced by an earlier block
    for (const Piece &piece : block.pieces) {
        start = std::max(start, profile.gradients[piece.gradient].ready_us);
    }
    return start;
}

void send_blocks(const Profile &profile, const Network &network, const Plan &plan, Timeline &out) {
    double link_free = 0;
    for (const Block &block : plan.blocks) {
        const int phases = block.phase == Phase::allreduce ? 2 : 1;
        const auto bytes = static_cast<double>(block_bytes(block));
        const double duration = phases * network.phase_us(bytes);
        const double start = start_of(block, profile, link_free);
        link_free = start + duration;
        out.blocks.push_back({start, link_free});
        out.link_busy_us += duration;
        out.sent_bytes += phases * bytes * (network.ranks - 1) / network.ranks;
        if (block.phase == Phase::reduce_scatter) continue;
        for (const Piece &piece : block.pieces) out.complete_us[piece.gradient] = link_free;
    }
}

void run_forward(const Profile &profile, const Plan &plan, Timeline &out) {
    const double backward_end = backward_us(profile);
    double now = backward_end;
    if (plan.barrier && !out.blocks.empty()) now = std::max(now, out.blocks.back().end_us);
    for (size_t i = 0; i < profile.gradients.size(); ++i) {
        const double start = std::max(now, out.complete_us[i]);
        now = start + profile.gradients[i].forward_us;
        out.layers.push_back({start, now});
    }
    out.iteration_us = now;
    out.wait_us = std::max(0.0, now - backward_end - forward_us(profile));
}

}  // namespace

void simulate(const Profile &profile, const Network &network, const Plan &plan, Timeline &out) {
    out.blocks.clear();
    out.layers.clear();
    out.link_busy_us = out.sent_bytes = 0;
    out.complete_us.assign(profile.gradients.size(), 0.0);
    out.blocks.reserve(plan.blocks.size());
    out.layers.reserve(profile.gradients.size());
    send_blocks(profile, network, plan, out);
    run_forward(profile, plan, out);
}

Timeline simulate(const Profile &profile, const Network &network, const Plan &plan) {
    Timeline out;
    simulate(profile, network, plan, out);
    return out;
}

}  // namespace ringrt::bucketing
