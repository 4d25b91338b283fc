// SPDX-License-Identifier: BSD-3-Clause
// Learns one training step's profile from the calls of the training loop. PURE: times are passed
// in, in microseconds of any one clock.
//
// A layer's forward time lies between the end of the wait for its gradient and the next wait. The
// backward pass begins when the last wait has ended. It therefore includes the last layer's forward
// time, which shifts no other time.
#pragma once

#include <cstdint>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt {

class StepProfiler {
  public:
    explicit StepProfiler(const std::vector<uint64_t> &gradient_bytes);

    // Continues from an earlier run's profile. False, without any change, if it is of other
    // gradients.
    bool restore(const bucketing::Profile &profile);

    void begin_backward(double now_us);
    void ready(uint32_t id, double now_us);
    void begin_wait(double now_us);
    void end_wait(uint32_t id, double now_us);
    // Call after a step's last wait. True if steps have lastingly become faster or slower (a new
    // batch size); earlier measurements are then dropped.
    bool end_step();

    [[nodiscard]] int steps() const { return steps_; }
    [[nodiscard]] bucketing::Profile profile() const;

  private:
    struct Mean {
        double value = 0;
        bool known = false;
        void add(double sample) {
            value = known ? value + 0.3 * (sample - value) : sample;
            known = true;
        }
    };

    std::vector<uint64_t> bytes_;
    std::vector<Mean> ready_, forward_;
    std::vector<double> ready_now_, forward_now_;  // of this step; < 0: not seen
    double backward_start_us_ = -1, wait_ended_us_ = -1;
    uint32_t waited_ = 0;
    int steps_ = 0, off_ = 0;
};

}  // namespace ringrt
