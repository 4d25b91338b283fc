// SPDX-License-Identifier: BSD-3-Clause
// The stepwise pattern: gradients become ready in bursts with gaps between them (Zhang et al., ICPP
// 2021). A stage is a burst; a gap longer than twice the mean gap ends it.
//
// Measured gaps jitter. A known boundary stays until its gap is below 1.5 times the mean, and a
// change counts only after three steps in a row, so that plans do not flap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ringrt::bucketing {

// The positions in `ready_us` (sorted, rising) at which a stage begins; the first is 0. Empty for
// empty input.
[[nodiscard]] std::vector<uint32_t> detect_stages(std::span<const double> ready_us,
                                                  double gap_factor = 2.0);

class StageTracker {
  public:
    // One step's ready times, in the order of the plan. True if the stages changed.
    bool observe(std::span<const double> ready_us);

    [[nodiscard]] const std::vector<uint32_t> &stages() const { return stages_; }

  private:
    std::vector<uint32_t> stages_;
    std::vector<uint8_t> seen_;  // per position: consecutive steps that disagree with stages_
};

}  // namespace ringrt::bucketing
