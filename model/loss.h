// SPDX-License-Identifier: BSD-3-Clause
// Models how the loss falls with the steps, and how many steps remain until it hardly falls.
//
//   loss(k) = 1 / (b0·k + b1) + b2,   b >= 0
//
// From Peng et al., Optimus, EuroSys 2018, as used by arXiv 1908.08082: refitted while the job
// runs, with more weight on later points (three equal parts of the samples, each with sixteen times
// the weight of the part before). For a given floor b2 the reciprocal of loss − b2 is a line in k,
// fitted by non-negative least squares; the floor is searched between 0 and the smallest loss.
#pragma once

#include <optional>
#include <span>

namespace ringrt::model {

struct LossSample {
    double step = 0;
    double loss = 0;
};

struct LossModel {
    double b0 = 0, b1 = 0, b2 = 0;
    double rms = 0;  // weighted root mean square of the residuals, in units of the loss
    [[nodiscard]] double loss(double step) const { return 1 / (b0 * step + b1) + b2; }
};

// Needs at least 3 usable samples (finite, positive, step >= 0) and a falling loss. Otherwise
// nullopt, and the caller falls back to the service attained so far.
[[nodiscard]] std::optional<LossModel> fit_loss_model(std::span<const LossSample> samples);

// Steps after `step` until the loss falls by less than `threshold` over the next `window` steps; at
// most `most`. 0: it has converged.
[[nodiscard]] double steps_to_converge(const LossModel &model, double step, double window,
                                       double threshold, double most);

// Steps after `step` until the curve falls to `goal`, at most `most`; nullopt: it never does.
[[nodiscard]] std::optional<double> steps_to_reach(const LossModel &model, double step, double goal,
                                                   double most);

}  // namespace ringrt::model
