// SPDX-License-Identifier: BSD-3-Clause
// Simulates a GPU where there is none: two cores cannot make sixteen ranks faster. Each layer's
// pass lasts as long as on a device, so that the speed-up over ranks is as on GPUs. The computation
// itself is real and counts as part of that time.
#pragma once

#include <chrono>
#include <thread>

namespace digits {

class Device {
  public:
    using Clock = std::chrono::steady_clock;

    void begin_pass() { due_ = Clock::now(); }
    // The device was idle since `start`: all later work is due later by that time.
    void stalled_since(Clock::time_point start) { due_ += Clock::now() - start; }
    // The work since the last call takes the device this long.
    void works(double ms) {
        due_ += std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double, std::milli>(ms));
        std::this_thread::sleep_until(due_);
    }

  private:
    Clock::time_point due_ = Clock::now();
};

}  // namespace digits
