// SPDX-License-Identifier: BSD-3-Clause
// Non-negative least squares for the four parameters of the speed model: Lawson and Hanson, Solving
// Least Squares Problems (1974), algorithm NNLS of chapter 23, on the normal equations. With four
// unknowns and well separated columns these are accurate enough without a matrix library.
#pragma once

#include <array>

namespace ringrt::model {

inline constexpr int kUnknowns = 4;

struct NormalEquations {
    std::array<std::array<double, kUnknowns>, kUnknowns> ata{};
    std::array<double, kUnknowns> atb{};
};

// The x >= 0 that minimises |Ax − b|². Always terminates: each round of the outer loop lowers the
// residual, and both loops are bounded.
[[nodiscard]] std::array<double, kUnknowns> solve_nnls(const NormalEquations &equations);

}  // namespace ringrt::model
