// SPDX-License-Identifier: BSD-3-Clause
#include "model/speed.h"

#include <algorithm>
#include <cmath>

#include "model/nnls.h"

namespace ringrt::model {

namespace {

bool is_usable(const SpeedSample &s) {
    return s.gpus > 0 && std::isfinite(s.step_ms) && s.step_ms > 0 && std::isfinite(s.weight) &&
           s.weight > 0;
}

std::array<double, 4> basis(int gpus) {
    const double w = gpus;
    return {1 / w, w - 1, (w - 1) / w, 1};
}

// Minimises relative errors, so that the short step times on many GPUs count as much as the long
// one on a single GPU.
NormalEquations normal_equations(std::span<const SpeedSample> samples) {
    NormalEquations eq;
    for (const SpeedSample &s : samples) {
        if (!is_usable(s)) continue;
        const std::array<double, 4> row = basis(s.gpus);
        const double weight = s.weight / (s.step_ms * s.step_ms);
        for (int i = 0; i < 4; ++i) {
            eq.atb[i] += weight * row[i] * s.step_ms;
            for (int j = 0; j < 4; ++j) eq.ata[i][j] += weight * row[i] * row[j];
        }
    }
    return eq;
}

SpeedModel scaled_default(std::span<const SpeedSample> samples) {
    double weights = 0, scale = 0;
    for (const SpeedSample &s : samples) {
        if (!is_usable(s)) continue;
        scale += s.weight * s.step_ms / default_speed_model(1.0).step_ms(s.gpus);
        weights += s.weight;
    }
    SpeedModel model = default_speed_model(weights > 0 ? scale / weights : 1000.0);
    model.measured = weights > 0;
    return model;
}

}  // namespace

SpeedModel default_speed_model(double one_gpu_step_ms) {
    return SpeedModel{.t = {0.9 * one_gpu_step_ms, 0, 0, 0.1 * one_gpu_step_ms}, .measured = false};
}

SpeedModel fit_speed_model(std::span<const SpeedSample> samples) {
    int first_size = 0;
    bool several_sizes = false;
    for (const SpeedSample &s : samples) {
        if (!is_usable(s)) continue;
        if (first_size == 0) first_size = s.gpus;
        several_sizes |= s.gpus != first_size;
    }
    if (!several_sizes) return scaled_default(samples);
    const SpeedModel model{.t = solve_nnls(normal_equations(samples)), .measured = true};
    const bool sound = std::all_of(model.t.begin(), model.t.end(),
                                   [](double t) { return std::isfinite(t) && t >= 0; });
    return sound && model.step_ms(first_size) > 0 ? model : scaled_default(samples);
}

}  // namespace ringrt::model
