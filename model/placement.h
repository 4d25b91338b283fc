// SPDX-License-Identifier: BSD-3-Clause
// The step time of an application by GPUs, nodes and batch, learned from its jobs' measurements.
//
//   T = passes · (pass + sample · local)                       computing
//     + [1 < gpus, one node]  (local_sync + local_gpu · (gpus − 2))
//     + [nodes > 1]           (net_sync   + net_gpu   · (gpus − 2))        all coefficients >= 0
//
// After the throughput model of Pollux (Qiao et al., OSDI 2021, eq. 8-11), with its overlap
// exponent fixed at 1, so that the model is linear and non-negative least squares fits it. The fit
// minimises relative errors. Rows of low weight pull towards usual values, so one sample already
// gives a curve.
#pragma once

#include <array>
#include <span>

namespace ringrt::model {

struct StepSample {
    int gpus = 1, nodes = 1;
    int passes = 1;          // accumulation passes in one step
    double local_batch = 1;  // samples per GPU and pass; in any unit that is always the same
    double step_ms = 0;
};

struct PlacementModel {
    // pass, sample, local_sync, local_gpu, net_sync, net_gpu, as above; ms
    std::array<double, 6> c{100, 900, 0, 0, 0, 0};
    [[nodiscard]] double step_ms(int gpus, int nodes, int passes, double local_batch) const;
};

// What is usual of an application that was hardly measured, as shares of a pass of the first
// sample.
struct Usual {
    double pass;     // that does not shrink with the batch
    double network;  // that an exchange between two nodes adds
};
// The first sample of a fixed batch has the batch that its user tuned, on which a pass takes long.
inline constexpr Usual kUsualOfFixedBatch{.pass = 0.1, .network = 0.1};
// That of an adaptive batch has the smallest. If the share of the pass is underrated, the batch
// stays the smallest (Pollux assumes a half, too); if that of the network is, jobs pay restarts to
// find that they do not scale over nodes.
inline constexpr Usual kUsualOfSmallestBatch{.pass = 0.5, .network = 0.5};

// Samples with a non-positive or non-finite number are ignored. Without samples: the default.
[[nodiscard]] PlacementModel fit_placement_model(std::span<const StepSample> samples, Usual usual);

// min |A x - b| over x >= 0, from the normal equations: `gram` = A'A (symmetric), `right` = A'b.
// Cyclic coordinate descent (convex; each step solves one unknown exactly).
template <std::size_t N>
[[nodiscard]] std::array<double, N> solve_non_negative(
    const std::array<std::array<double, N>, N> &gram, const std::array<double, N> &right,
    int sweeps = 400) {
    std::array<double, N> x{};
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        double moved = 0;
        for (std::size_t i = 0; i < N; ++i) {
            if (gram[i][i] <= 0) continue;
            double rest = right[i];
            for (std::size_t j = 0; j < N; ++j) rest -= j == i ? 0 : gram[i][j] * x[j];
            const double next = rest > 0 ? rest / gram[i][i] : 0;
            const double change = (next - x[i]) * (next - x[i]) * gram[i][i];
            moved = change > moved ? change : moved;
            x[i] = next;
        }
        if (moved < 1e-14) break;
    }
    return x;
}

}  // namespace ringrt::model
