// SPDX-License-Identifier: BSD-3-Clause
#include "model/loss.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/placement.h"

namespace ringrt::model {
namespace {

constexpr std::size_t kSamplesMin = 3;
// A part's weight relative to the part before: Optimus divides the standard deviation by 4.
constexpr double kLaterPart = 16;

double weight_of(std::size_t i, std::size_t count) {
    return std::pow(kLaterPart, std::floor(3 * double(i) / double(count)));
}

// Fits b0 and b1 for a given floor. The weights make the residuals those of the loss, to first
// order.
LossModel fit_above(const std::vector<LossSample> &samples, double floor, double last) {
    std::array<std::array<double, 2>, 2> gram{};
    std::array<double, 2> right{};
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double above = samples[i].loss - floor, x = samples[i].step / last;
        const double weight = weight_of(i, samples.size()) * std::pow(above, 4);
        gram[0][0] += weight * x * x;
        gram[0][1] += weight * x;
        gram[1][1] += weight;
        right[0] += weight * x / above;
        right[1] += weight / above;
    }
    gram[1][0] = gram[0][1];
    const std::array<double, 2> line = solve_non_negative(gram, right, 4000);
    LossModel model{.b0 = line[0] / last, .b1 = std::max(line[1], 1e-12), .b2 = floor};
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const double residual = samples[i].loss - model.loss(samples[i].step);
        sum += weight_of(i, samples.size()) * residual * residual;
        weights += weight_of(i, samples.size());
    }
    model.rms = std::sqrt(sum / weights);
    return model;
}

}  // namespace

std::optional<LossModel> fit_loss_model(std::span<const LossSample> samples) {
    std::vector<LossSample> usable;
    for (const LossSample &sample : samples)
        if (std::isfinite(sample.step) && std::isfinite(sample.loss) && sample.step >= 0 &&
            sample.loss > 0)
            usable.push_back(sample);
    if (usable.size() < kSamplesMin) return std::nullopt;
    std::sort(usable.begin(), usable.end(),
              [](const LossSample &a, const LossSample &b) { return a.step < b.step; });
    const double last = usable.back().step;
    if (last <= 0) return std::nullopt;
    double smallest = usable.front().loss;
    for (const LossSample &sample : usable) smallest = std::min(smallest, sample.loss);
    // The residuals as a function of the floor have one minimum: shrink the bracket around it.
    double low = 0, high = smallest * 0.999;
    for (int i = 0; i < 60; ++i) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (fit_above(usable, a, last).rms <= fit_above(usable, b, last).rms)
            high = b;
        else
            low = a;
    }
    const LossModel model = fit_above(usable, (low + high) / 2, last);
    if (model.b0 <= 0) return std::nullopt;
    return model;
}

double steps_to_converge(const LossModel &model, double step, double window, double threshold,
                         double most) {
    const auto falls = [&](double k) { return model.loss(k) - model.loss(k + window); };
    if (falls(step) <= threshold) return 0;
    double low = 0, high = most;
    if (falls(step + most) > threshold) return most;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        if (falls(step + middle) > threshold)
            low = middle;
        else
            high = middle;
    }
    return high;
}

std::optional<double> steps_to_reach(const LossModel &model, double step, double goal,
                                     double most) {
    if (goal <= model.b2 || model.b0 <= 0) return std::nullopt;
    const double reached_at = (1 / (goal - model.b2) - model.b1) / model.b0;
    return std::clamp(reached_at - step, 0.0, most);
}

}  // namespace ringrt::model
