// SPDX-License-Identifier: BSD-3-Clause
// Learns one training step's profile from the calls that a training loop makes anyway. PURE: times
// are passed in, in microseconds of any one clock.
//
// A layer's forward time lies between the end of the wait for its gradient and the next wait. The
// backward pass begins when the last wait has ended; the last layer's forward time counts as part
// of it, which shifts nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt {

class StepProfiler {
  public:
    explicit StepProfiler(const std::vector<uint64_t> &gradient_bytes);

    // Goes on from an earlier run's profile. False, and nothing changes, where that is of other
    // gradients.
    bool recall(const bucketing::Profile &profile);

    void begin_backward(double now_us);
    void ready(uint32_t id, double now_us);
    void begin_wait(double now_us);
    void end_wait(uint32_t id, double now_us);
    // After the last wait of a step. True where the steps have lastingly become faster or slower
    // (the batch was changed); then what was learned before is forgotten.
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
