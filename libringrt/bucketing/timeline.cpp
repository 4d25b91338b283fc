// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/timeline.h"

#include <algorithm>

namespace ringrt::bucketing {
namespace {

double ready_us(const Block &block, const Profile &profile, const Timeline &out) {
    double ready = block.not_before_us;
    for (const Piece &piece : block.pieces) {
        ready = std::max(ready, block.phase == Phase::all_gather
                                    ? out.reduced_us[piece.gradient]
                                    : profile.gradients[piece.gradient].ready_us);
    }
    return ready;
}

void send_blocks(const Profile &profile, const Network &network, const Plan &plan, Timeline &out) {
    double free_us[2] = {0, 0};  // per direction of the link; a ring uses one for both phases
    double &push_free = free_us[0], &pull_free = free_us[network.servers ? 1 : 0];
    const double sent = network.servers ? 1 : 1.0 * (network.ranks - 1) / network.ranks;
    for (const Block &block : plan.blocks) {
        const auto bytes = static_cast<double>(block_bytes(block));
        const double duration = network.phase_us(bytes);
        Span span{ready_us(block, profile, out), 0};
        if (block.phase != Phase::all_gather) {
            span.start_us = std::max(span.start_us, push_free);
            push_free = span.end_us = span.start_us + duration;
            for (const Piece &piece : block.pieces) out.reduced_us[piece.gradient] = push_free;
            out.link_busy_us += duration * network.phases_held() / 2;
            out.sent_bytes += bytes * sent;
        }
        if (block.phase != Phase::reduce_scatter) {
            const bool alone = block.phase == Phase::all_gather;
            const double start = std::max(alone ? span.start_us : push_free, pull_free);
            if (alone) span.start_us = start;
            pull_free = span.end_us = start + duration;
            for (const Piece &piece : block.pieces) out.complete_us[piece.gradient] = pull_free;
            out.link_busy_us += duration * network.phases_held() / 2;
            if (!network.servers) out.sent_bytes += bytes * sent;
        }
        out.blocks.push_back(span);
    }
}

void run_forward(const Profile &profile, const Plan &plan, Timeline &out) {
    const double backward_end = backward_us(profile);
    double now = backward_end;
    if (plan.barrier) {
        for (const Span &block : out.blocks) now = std::max(now, block.end_us);
    }
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
    out.reduced_us.assign(profile.gradients.size(), 0.0);
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
