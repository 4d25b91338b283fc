// SPDX-License-Identifier: BSD-3-Clause
// The gradient noise that the jobs of one application measured, by epoch and batch.
//
// In theory (Pollux, OSDI 2021) the noise does not depend on the batch at which it is measured. In
// its tables it does, so a job that extrapolates from its own batch misjudges others. What other
// jobs measured there, in the same epoch, is better.
#pragma once

#include <cmath>
#include <iterator>
#include <map>

#include "sim/workload/profile.h"

namespace ringrt::sim {

class Gradients {
  public:
    void note(int epoch, int batch, Gradient gradient) {
        measured_[epoch].try_emplace(batch, gradient);
    }
    // Between two measured batches it is interpolated; beyond them the nearest holds. `otherwise`:
    // of an epoch that nobody measured.
    [[nodiscard]] Gradient at(int epoch, int batch, Gradient otherwise) const {
        const auto found = measured_.find(epoch);
        if (found == measured_.end()) return otherwise;
        const std::map<int, Gradient> &batches = found->second;
        const auto above = batches.lower_bound(batch);
        if (above == batches.end()) return batches.rbegin()->second;
        if (above == batches.begin()) return above->second;
        const auto &[low, a] = *std::prev(above);
        const auto &[high, b] = *above;
        const double part = double(batch - low) / (high - low);
        return {.square = std::lerp(a.square, b.square, part),
                .variance = std::lerp(a.variance, b.variance, part)};
    }

  private:
    std::map<int, std::map<int, Gradient>> measured_;
};

}  // namespace ringrt::sim
