// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/step_clock.h"

#include <algorithm>

namespace ringrt::job {

void StepClock::add(double step_ms) { last_[count_++ % kWindow] = step_ms; }

double StepClock::step_ms() const {
    const size_t known = std::min(count_, kWindow);
    if (known < kEnough) return 0;
    std::array<double, kWindow> sorted = last_;
    auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    return *middle;
}

}  // namespace ringrt::job
