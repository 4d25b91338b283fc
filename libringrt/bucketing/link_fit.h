// SPDX-License-Identifier: BSD-3-Clause
// Fits the latency α and the bandwidth B of the ring to completed blocks.
//
// A phase of s bytes on w ranks takes (w−1)·α + ((w−1)/w)·s/B. Both are fitted by weighted least
// squares of the relative error. Older blocks count less (a factor per block), and an outlier (a
// descheduled rank) counts little. Several outliers in a row on the same side mean that the network
// has changed: earlier blocks are then dropped. The bandwidth is a fit, never the maximum seen.
#pragma once

#include <array>

#include "libringrt/bucketing/network.h"

namespace ringrt::bucketing {

struct LinkEstimate {
    double alpha_us = 0;
    double alpha_error_us = 0;  // one standard deviation
    double gbps = 0;
    double gbps_error = 0;
    int blocks = 0;  // after the last change
};

class LinkFit {
  public:
    // The start of the fit, and a weak prior until blocks are observed.
    explicit LinkFit(double gbps = 10, double alpha_us = 50);

    // One completed phase of one block. True if this block showed that the network has changed.
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
    double prior_alpha_us_ = 1, prior_us_per_byte_ = 1;  // at the last change
    // Normal equations of duration = messages·α + bytes·β, in relative errors.
    double mm_ = 0, mb_ = 0, bb_ = 0, md_ = 0, bd_ = 0;
    double relative_variance_ = 0.01;
    int blocks_ = 0;
    static constexpr int kStreak = 5;
    std::array<Sample, kStreak> streak_{};  // the last blocks, all outliers on the same side
    int streak_length_ = 0;
    bool streak_slow_ = false;
};

}  // namespace ringrt::bucketing
