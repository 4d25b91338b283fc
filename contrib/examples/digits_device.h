// SPDX-License-Identifier: BSD-3-Clause
// Stands in for a GPU where there is none: two cores cannot make sixteen ranks faster. Each layer's
// pass lasts as long as a device would take for it, so that the speed-up over ranks is as on GPUs.
// The computation itself is real and counts as part of that time.
#pragma once

#include <chrono>
#include <thread>

namespace digits {

class Device {
  public:
    using Clock = std::chrono::steady_clock;

    void begin_pass() { due_ = Clock::now(); }
    // The device stood still since `start`: what comes after is due so much later.
    void stalled_since(Clock::time_point start) { due_ += Clock::now() - start; }
    // What was computed since the last call takes the device so long.
    void works(double ms) {
        due_ += std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double, std::milli>(ms));
        std::this_thread::sleep_until(due_);
    }

  private:
    Clock::time_point due_ = Clock::now();
};

}  // namespace digits
