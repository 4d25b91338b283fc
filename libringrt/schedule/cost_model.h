// SPDX-License-Identifier: BSD-3-Clause
// Selects the fastest algorithm: α-β-γ costs of each, with constants measured at start. PURE.
//
// Source of the formulas: Thakur, Rabenseifner and Gropp 2005, for the algorithms of schedule.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libringrt/reduce/order.h"

namespace ringrt {

struct CostModel {
    double alpha_s = 30e-6;           // per message
    double beta_s_per_byte = 1e-9;    // sent by one node (links are full duplex)
    double gamma_s_per_byte = 2e-10;  // reduced
    // Like beta, if every rank sends to one neighbour only: no two flows collide in a switch.
    double ring_beta_s_per_byte = 1e-9;
};

enum class Algorithm : uint8_t { OneShot, Direct, RawHalving, Chain, Ring, Halving, Tree };

// The algorithms that add in this order.
[[nodiscard]] std::span<const Algorithm> algorithms_of(Order order);

// An allreduce between ranks that are assigned to nodes in blocks.
struct Exchange {
    int ranks = 1, ranks_per_node = 1;  // on the fullest node, whose ranks share its link
    size_t bytes = 0;
    double partial_factor = 1;  // bytes of a partial sum / bytes of an element
};

// Latency of one direct exchange (a reduce-scatter or an all-gather) in units of α. Its ranks − 1
// messages leave one after the other, but the full latency counts only once. Requires at least 2
// ranks.
[[nodiscard]] constexpr double exchange_latency(int ranks) {
    constexpr double kNext = 0.3;  // of α, for every message after the first
    return 1 + kNext * (ranks - 2);
}

[[nodiscard]] double seconds(const CostModel &model, Algorithm algorithm, const Exchange &what);
[[nodiscard]] bool fits(Algorithm algorithm, int ranks);
// The cheapest of those that fit. All ranks with the same model choose the same algorithm.
[[nodiscard]] Algorithm choose(const CostModel &model, Order order, const Exchange &what);

}  // namespace ringrt
