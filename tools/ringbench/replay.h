// SPDX-License-Identifier: BSD-3-Clause
// Trains with a recorded profile instead of a model: computation is slept, gradients are sent.
#pragma once

#include <chrono>
#include <vector>

#include "libringrt/gradients/gradient_reducer.h"

namespace ringrt::bench {

// Throws with the communicator's message where `status` is an error.
void need(const Communicator &communicator, ringrt_status_t status);

class Replay {
  public:
    using Clock = std::chrono::steady_clock;

    // Collective. All follow rank 0's `plan`, or what is learned where that is empty. `profile` may
    // change its times between iterations; `buffers` are its gradients', in floats.
    Replay(Communicator &communicator, const bucketing::Profile &profile,
           const bucketing::Plan &plan, std::vector<std::vector<float>> &buffers);

    // One iteration from backward pass to backward pass, in us.
    double iterate();

    [[nodiscard]] const bucketing::Plan &plan() const { return plan_; }
    [[nodiscard]] GradientReducer::State state() const { return exchange_.state(); }
    // Processor time of the exchange so far without the transfers: its thread's, and that of
    // ready() and wait() in the caller's.
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
