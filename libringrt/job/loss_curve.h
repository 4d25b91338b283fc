// SPDX-License-Identifier: BSD-3-Clause
// How many steps are left, of a program that knows its loss and not its end. PURE.
//
// Steps are reference steps (batch.h): the loss falls with the samples, and a curve over the job's
// own steps would bend where its batch changes.
//
// The losses are averaged over equal runs of steps, at most kSamplesMax of them; Optimus's curve
// (model/loss.h) is fitted to these anew whenever a tenth more steps were made.
// Training ends where the curve reaches the goal; without a goal, where the loss would fall by less
// than a hundredth of itself over the next tenth of the steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/loss.h"

namespace ringrt::job {

class LossCurve {
  public:
    // After `step` steps, which rise. A loss that is not finite or not positive is left out; a goal
    // that is not finite or not positive is none.
    void add(double step, double loss, double goal);
    // nullopt: not known, after fewer than kEnough averages, of a loss that does not fall, and of a
    // goal below what the curve falls to.
    [[nodiscard]] std::optional<double> steps_left(double step);
    [[nodiscard]] bool has_goal() const { return goal_ > 0; }

    // One printable line for the checkpoint, so that a job that comes back knows its curve; empty:
    // nothing. recall() of any other text changes nothing; a step of then is `scale` of now.
    [[nodiscard]] std::string text() const;
    void recall(std::string_view text, double scale = 1);

    static constexpr std::size_t kSamplesMax = 32;
    static constexpr std::size_t kEnough = 8;

  private:
    void halve();
    void refit(double done);

    std::vector<model::LossSample> samples_;
    model::LossSample sum_;  // of the run of steps that is not full yet
    uint64_t in_sum_ = 0;
    uint64_t run_ = 1;  // steps averaged into one sample
    double goal_ = 0;
    double refit_at_ = 0;
    std::optional<double> ends_at_;
};

}  // namespace ringrt::job
