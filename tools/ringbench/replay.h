// SPDX-License-Identifier: BSD-3-Clause
// Trains with a recorded profile instead of a model: sleeps for the computation, sends the
// gradients.
#pragma once

#include <chrono>
#include <vector>

#include "libringrt/gradients/gradient_reducer.h"

namespace ringrt::bench {

// Throws with the communicator's message if `status` is an error.
void need(const Communicator &communicator, ringrt_status_t status);

class Replay {
  public:
    using Clock = std::chrono::steady_clock;

    // Collective. All ranks follow rank 0's `plan`; if it is empty, a learned one. The times in
    // `profile` may change between iterations. `buffers` holds the gradients, in floats.
    Replay(Communicator &communicator, const bucketing::Profile &profile,
           const bucketing::Plan &plan, std::vector<std::vector<float>> &buffers);

    // One iteration from backward pass to backward pass, in us.
    double iterate();

    [[nodiscard]] const bucketing::Plan &plan() const { return plan_; }
    [[nodiscard]] GradientReducer::State state() const { return exchange_.state(); }
    // CPU time of the exchange so far without the transfers: that of its thread, and that of
    // ready() and wait() in the caller's thread.
    [[nodiscard]] double cpu_us() const { return state().cpu_us + calls_cpu_us_; }

    static double us_since(Clock::time_point start);

  private:
    const bucketing::Profile &profile_;
    std::vector<std::vector<float>> &buffers_;
    const std::vector<uint32_t> order_;
    const bucketing::Plan plan_;
    GradientReducer exchange_;
    double calls_cpu_us_ = 0;
};

}  // namespace ringrt::bench
