// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm is quickest: α-β-γ costs of each, with constants measured at start. PURE.
//
// Source of the forms: Thakur, Rabenseifner and Gropp 2005, for the algorithms of schedule.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libringrt/reduce/order.h"

namespace ringrt {

struct CostModel {
    double alpha_s = 30e-6;           // per message
    double beta_s_per_byte = 1e-9;    // sent by one node (a link carries both directions at once)
    double gamma_s_per_byte = 2e-10;  // reduced
    // As beta, where everybody sends to one neighbour and not to all: no two meet in a switch.
    double ring_beta_s_per_byte = 1e-9;
};

enum class Algorithm : uint8_t { OneShot, Direct, RawHalving, Chain, Ring, Halving, Tree };

// Those that add in this order.
[[nodiscard]] std::span<const Algorithm> algorithms_of(Order order);

// An allreduce between ranks that are dealt to nodes in blocks.
struct Exchange {
    int ranks = 1, ranks_per_node = 1;  // of the fullest node: its ranks share its link
    size_t bytes = 0;
    double partial_factor = 1;  // bytes of a partial sum by those of an element
};

// Latency of one direct exchange, a reduce-scatter or an all-gather, in units of α: its ranks − 1
// messages leave one after the other, but wait for each other only once. At least 2 ranks.
[[nodiscard]] constexpr double exchange_latency(int ranks) {
    constexpr double kNext = 0.3;  // of α, for every message after the first
    return 1 + kNext * (ranks - 2);
}

[[nodiscard]] double seconds(const CostModel &model, Algorithm algorithm, const Exchange &what);
// All ranks with the same model choose the same.
[[nodiscard]] Algorithm choose(const CostModel &model, Order order, const Exchange &what);

}  // namespace ringrt
