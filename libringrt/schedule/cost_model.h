// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm is quickest: α-β-γ costs of each, with constants measured at start. PURE.
//
// Source of the forms: Thakur, Rabenseifner and Gropp 2005, for the algorithms of schedule.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ringrt {

struct CostModel {
    double alpha_s = 30e-6;           // per message
    double beta_s_per_byte = 1e-9;    // sent by one rank (a link carries both directions at once)
    double gamma_s_per_byte = 2e-10;  // reduced
};

enum class Algorithm : uint8_t { OneShot, Pairwise, BinaryBlocks, Chain };
inline constexpr std::array kAlgorithms = {Algorithm::OneShot, Algorithm::Pairwise,
                                           Algorithm::BinaryBlocks, Algorithm::Chain};

// Latency of one pairwise exchange, a reduce-scatter or an all-gather, in units of α: its ranks − 1
// messages leave one after the other, but wait for each other only once. At least 2 ranks.
[[nodiscard]] constexpr double exchange_latency(int ranks) {
    constexpr double kNext = 0.3;  // of α, for every message after the first
    return 1 + kNext * (ranks - 2);
}

// Of an allreduce of `bytes` over `ranks`.
[[nodiscard]] double seconds(const CostModel &model, Algorithm algorithm, int ranks, size_t bytes);
// All ranks with the same model choose the same.
[[nodiscard]] Algorithm choose(const CostModel &model, int ranks, size_t bytes);

}  // namespace ringrt
