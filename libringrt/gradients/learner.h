// SPDX-License-Identifier: BSD-3-Clause
// Learns the profile, its stages and the link during training, and decides when to replan. PURE:
// times are passed in, in microseconds of any one clock.
#pragma once

#include <optional>
#include <vector>

#include "libringrt/bucketing/link_fit.h"
#include "libringrt/bucketing/plan.h"
#include "libringrt/bucketing/stages.h"
#include "libringrt/gradients/learned.h"
#include "libringrt/gradients/step_profiler.h"

namespace ringrt {

inline constexpr uint64_t kAgreeEvery = 4;  // steps; a plan can change only at these

class Learner {
  public:
    Learner(const std::vector<uint64_t> &gradient_bytes, int ranks);

    // Continues from an earlier run's result, if it is about these gradients.
    bool restore(const Learned &learned, double samples_per_rank);

    StepProfiler &calls() { return profiler_; }   // receives ready() and wait()
    void sent(double bytes, double duration_us);  // one phase of a block
    void end_step();

    // Whether to replan, at a step where the plan can change: after a lasting change, or after 4,
    // 8, 16, … steps, when the measurements are more exact. Clears the request.
    [[nodiscard]] bool take_replan_due();

    [[nodiscard]] bucketing::Profile profile() const { return profiler_.profile(); }
    [[nodiscard]] bucketing::LinkEstimate link() const { return link_.estimate(); }
    [[nodiscard]] bucketing::Network network() const;
    [[nodiscard]] Learned learned(uint64_t plan_version, double samples_per_rank) const;
    [[nodiscard]] uint64_t steps() const { return steps_; }

  private:
    const int ranks_;
    StepProfiler profiler_;
    bucketing::LinkFit link_;
    bucketing::StageTracker stages_;
    bool link_known_ = false;
    bool replan_ = false;
    uint64_t steps_ = 0;
};

// A plan that is faster than `old` by enough to switch; otherwise nothing.
[[nodiscard]] std::optional<bucketing::Plan> better_plan(const bucketing::Rule &rule,
                                                         const bucketing::Profile &profile,
                                                         const bucketing::Network &network,
                                                         const bucketing::Plan &old);

}  // namespace ringrt
