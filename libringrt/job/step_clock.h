// SPDX-License-Identifier: BSD-3-Clause
// The time of one step, smoothed by the median of the last steps. A save, a slow read or a stopped
// process distorts a mean for many steps, but not a median. PURE.
#pragma once

#include <array>
#include <cstddef>

namespace ringrt::job {

class StepClock {
  public:
    void add(double step_ms);
    // 0 before kEnough steps.
    [[nodiscard]] double step_ms() const;

    static constexpr size_t kWindow = 32;
    static constexpr size_t kEnough = 3;

  private:
    std::array<double, kWindow> last_{};
    size_t count_ = 0;  // all steps added
};

}  // namespace ringrt::job
