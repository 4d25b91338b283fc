// SPDX-License-Identifier: BSD-3-Clause
// α and bandwidth of the ring, fitted on completed blocks.
//
// A phase of s bytes on w ranks takes (w−1)·α + ((w−1)/w)·s/B. Both are fitted by weighted least
// squares in which each block counts by its relative error, older blocks count less (a factor per
// block), and a block far off (a rank was descheduled) counts little. When several blocks in a row
// are off the same way the network has changed: what was before is forgotten. The bandwidth is
// never the largest seen.
#pragma once

#include <array>

#include "libringrt/bucketing/network.h"

namespace ringrt::bucketing {

struct LinkEstimate {
    double alpha_us = 0;
    double alpha_error_us = 0;  // one standard deviation
    double gbps = 0;
    double gbps_error = 0;
    int blocks = 0;  // since the last change
};

class LinkFit {
  public:
    // Where the search starts, and what counts (little) until blocks have spoken.
    explicit LinkFit(double gbps = 10, double alpha_us = 50);

    // One completed phase of one block. True where this one showed that the network has changed.
    bool observe(int ranks, double bytes, double duration_us);

    [[nodiscard]] LinkEstimate estimate() const;

  private:
    struct Sample {
        double messages = 0, wire_bytes = 0, duration_us = 0;
    };

    void forget();
    void add(const Sample &sample, double weight);
    [[nodiscard]] double predicted_us(const Sample &sample) const;
    void solve();

    double alpha_us_, us_per_byte_;
    double prior_alpha_us_ = 1, prior_us_per_byte_ = 1;  // before the last change
    // Normal equations of duration = messages·α + bytes·β, in relative errors.
    double mm_ = 0, mb_ = 0, bb_ = 0, md_ = 0, bd_ = 0;
    double relative_variance_ = 0.01;
    int blocks_ = 0;
    static constexpr int kStreak = 5;
    std::array<Sample, kStreak> streak_{};  // the last blocks, all off the same way
    int streak_length_ = 0;
    bool streak_slow_ = false;
};

}  // namespace ringrt::bucketing
