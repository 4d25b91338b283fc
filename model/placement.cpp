// SPDX-License-Identifier: BSD-3-Clause
#include "model/placement.h"

#include <algorithm>
#include <cmath>

namespace ringrt::model {
namespace {

using Row = std::array<double, 6>;

Row features(int gpus, int nodes, int passes, double local_batch) {
    const double beyond = std::max(0, gpus - 2);
    const bool within = gpus > 1 && nodes == 1, across = nodes > 1;
    return {double(passes),      passes * local_batch, double(within),
            within ? beyond : 0, double(across),       across ? beyond : 0};
}

bool usable(const StepSample &sample) {
    return std::isfinite(sample.step_ms) && sample.step_ms > 0 && sample.local_batch > 0 &&
           std::isfinite(sample.local_batch) && sample.gpus > 0 && sample.nodes > 0 &&
           sample.passes > 0;
}

struct Normal {
    std::array<Row, 6> gram{};
    Row right{};
    void add(const Row &row, double value, double weight) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            right[i] += weight * row[i] * value;
            for (std::size_t j = 0; j < row.size(); ++j) gram[i][j] += weight * row[i] * row[j];
        }
    }
};

void add_prior(Normal &normal, const StepSample &sample, Usual usual) {
    constexpr double kWeight = 1e-3;
    const double pass = sample.step_ms / sample.passes;
    const Row values{usual.pass * pass,    (1 - usual.pass) * pass / sample.local_batch,
                     0.02 * pass,          0.002 * pass,
                     usual.network * pass, 0.005 * pass};
    for (std::size_t i = 0; i < values.size(); ++i) {
        Row row{};
        row[i] = 1 / values[i];
        normal.add(row, 1, kWeight);
    }
}

}  // namespace

double PlacementModel::step_ms(int gpus, int nodes, int passes, double local_batch) const {
    const Row row = features(gpus, nodes, passes, local_batch);
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) sum += row[i] * c[i];
    return sum;
}

PlacementModel fit_placement_model(std::span<const StepSample> samples, Usual usual) {
    Normal normal;
    const StepSample *smallest = nullptr;
    for (const StepSample &sample : samples) {
        if (!usable(sample)) continue;
        if (!smallest || sample.gpus < smallest->gpus) smallest = &sample;
        Row row = features(sample.gpus, sample.nodes, sample.passes, sample.local_batch);
        for (double &value : row) value /= sample.step_ms;
        normal.add(row, 1, 1);
    }
    PlacementModel model;
    if (!smallest) return model;
    add_prior(normal, *smallest, usual);
    // Unknowns in units of the diagonal, so that the sweeps converge evenly.
    Row scale{};
    for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = 1 / std::sqrt(normal.gram[i][i]);
    for (std::size_t i = 0; i < scale.size(); ++i) {
        normal.right[i] *= scale[i];
        for (std::size_t j = 0; j < scale.size(); ++j) normal.gram[i][j] *= scale[i] * scale[j];
    }
    model.c = solve_non_negative(normal.gram, normal.right);
    for (std::size_t i = 0; i < scale.size(); ++i) model.c[i] *= scale[i];
    return model;
}

}  // namespace ringrt::model
