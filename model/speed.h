// SPDX-License-Identifier: BSD-3-Clause
// The step time of a job on w GPUs.
//
//   T(w) = t[0]·(1/w) + t[1]·(w−1) + t[2]·(w−1)/w + t[3]      [ms], all t >= 0
//
// From arXiv 1908.08082, with its batch per GPU m = M/w at a fixed global batch M (and the gradient
// bytes n) folded into t[0] and t[2]. Fitted to measured (w, step_ms) by non-negative least squares
// (Lawson and Hanson, Solving Least Squares Problems, ch. 23).
#pragma once

#include <array>
#include <span>

namespace ringrt::model {

struct SpeedSample {
    int gpus = 0;
    double step_ms = 0;
    double weight = 1;
};

struct SpeedModel {
    std::array<double, 4> t{1000.0, 0.0, 0.0, 0.0};
    bool measured = false;  // false: the default curve, without measurements

    [[nodiscard]] double step_ms(int gpus) const {
        const double w = gpus;
        return t[0] / w + t[1] * (w - 1) + t[2] * (w - 1) / w + t[3];
    }
};

// Without measurements: 90 % of a one-GPU step shrinks with w, 10 % does not (Amdahl).
[[nodiscard]] SpeedModel default_speed_model(double one_gpu_step_ms = 1000.0);

// With samples of one size only, the default curve is scaled to them; without samples it is
// returned unchanged. Samples with a non-finite or non-positive number are ignored.
[[nodiscard]] SpeedModel fit_speed_model(std::span<const SpeedSample> samples);

}  // namespace ringrt::model
