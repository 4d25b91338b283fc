// SPDX-License-Identifier: BSD-3-Clause
// What one transfer costs on a ring.
//
// A ring's reduce-scatter and its all-gather both send over the same directed link of each rank, so
// at any time one of them uses it: together they cost 2(w−1)α + 2((w−1)/w)·s/B for s bytes (arXiv
// 1908.08082), one phase costs half of it. α is paid while the link is held, as by a runtime that
// sends block by block.
#pragma once

#include <cstdint>

namespace ringrt::bucketing {

struct Network {
    double gbps = 10;     // of each rank's link, 1e9 bits/s
    double alpha_us = 0;  // per message: one phase sends ranks − 1 messages one after the other
    int ranks = 1;

    [[nodiscard]] double phase_alpha_us() const { return alpha_us * (ranks - 1); }
    [[nodiscard]] double us_per_byte() const {  // of one phase
        return 8e-3 / gbps * (ranks - 1) / ranks;
    }
    // One phase, reduce-scatter or all-gather, of one block.
    [[nodiscard]] double phase_us(double bytes) const {
        return phase_alpha_us() + bytes * us_per_byte();
    }
};

}  // namespace ringrt::bucketing
