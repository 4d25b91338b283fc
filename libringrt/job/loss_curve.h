// SPDX-License-Identifier: BSD-3-Clause
// Estimates the remaining steps of a program that has a loss but no fixed end. PURE.
//
// Steps are reference steps (batch.h): the loss falls with the number of samples, and a curve over
// the job's own steps would bend where the batch changes.
//
// Losses are averaged over equal runs of steps, at most kSamplesMax of them. Optimus's curve
// (model/loss.h) is refitted to these whenever the step count has grown by a tenth. Training ends
// where the curve reaches the goal. Without a goal, it ends where the loss would fall by less than
// a hundredth of itself over the next tenth of the steps.
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
    // Call with increasing `step`. A loss that is not finite and positive is ignored; a goal that
    // is not finite and positive means no goal.
    void add(double step, double loss, double goal);
    // nullopt: unknown, because there are fewer than kEnough averages, the loss does not fall, or
    // the goal is below the curve's limit.
    [[nodiscard]] std::optional<double> steps_left(double step);
    [[nodiscard]] bool has_goal() const { return goal_ > 0; }

    // One printable line for the checkpoint, so that a restarted job keeps its curve; empty: no
    // curve. restore() ignores any other text. One step at that time is `scale` steps now.
    [[nodiscard]] std::string text() const;
    void restore(std::string_view text, double scale = 1);

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
