// SPDX-License-Identifier: BSD-3-Clause
// The cost of one transfer, on a ring or with parameter servers.
//
// A ring's reduce-scatter and all-gather use the same directed link of each rank, so only one of
// them uses it at a time. Together they cost 2(w−1)α + 2((w−1)/w)·s/B for s bytes (arXiv
// 1908.08082); one phase costs half of it. α occupies the link, as in a runtime that sends block by
// block.
//
// With parameter servers, a rank pushes all bytes and pulls all bytes, each in one message and each
// on its own direction of the link: the next push runs while the previous sums return. The servers'
// own links are assumed to be at least as wide as all ranks' links together.
#pragma once

#include <cstdint>

namespace ringrt::bucketing {

struct Network {
    double gbps = 10;     // of each rank's link, 1e9 bits/s
    double alpha_us = 0;  // per message: one phase sends ranks − 1 messages in sequence
    int ranks = 1;
    bool servers = false;  // reduce-scatter is a push, all-gather a pull

    [[nodiscard]] double phase_alpha_us() const {
        return alpha_us * (servers ? ranks > 1 : ranks - 1);
    }
    [[nodiscard]] double us_per_byte() const {  // of one phase
        return 8e-3 / gbps * (servers ? ranks > 1 : 1.0 * (ranks - 1) / ranks);
    }
    // One phase, reduce-scatter or all-gather, of one block.
    [[nodiscard]] double phase_us(double bytes) const {
        return phase_alpha_us() + bytes * us_per_byte();
    }
    // On a ring, both phases of a block occupy the link. With servers, the next block waits only
    // for the push.
    [[nodiscard]] int phases_held() const { return servers ? 1 : 2; }
    [[nodiscard]] double held_us(double bytes) const { return phases_held() * phase_us(bytes); }
};

}  // namespace ringrt::bucketing
