// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm is quickest: α-β-γ costs of each, with constants measured at start. PURE.
//
// Source of the forms: Thakur, Rabenseifner and Gropp 2005, for the algorithms of program.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ringrt {

struct CostModel {
    double alpha_s = 30e-6;           // per message
    double beta_s_per_byte = 1e-9;    // sent by one rank (a link carries both directions at once)
    double gamma_s_per_byte = 2e-10;  // folded
};

enum class Algorithm : uint8_t { OneShot, Pairwise, BinaryBlocks, Chain };
inline constexpr std::array kAlgorithms = {Algorithm::OneShot, Algorithm::Pairwise,
                                           Algorithm::BinaryBlocks, Algorithm::Chain};

// Of an allreduce of `bytes` over `ranks`.
[[nodiscard]] double seconds(const CostModel &model, Algorithm algorithm, int ranks, size_t bytes);
// All ranks with the same model choose the same.
[[nodiscard]] Algorithm choose(const CostModel &model, int ranks, size_t bytes);

}  // namespace ringrt
