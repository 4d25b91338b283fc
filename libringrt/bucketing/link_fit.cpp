// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/link_fit.h"

#include <algorithm>
#include <cmath>

namespace ringrt::bucketing {
namespace {

constexpr double kForget = 0.98;  // per block: about the last 50 count
// TCP needs at least this, and it costs little on a faster node. A plan that assumes no start-up
// cost fails on real start-ups.
constexpr double kLeastAlphaUs = 10;
constexpr double kPrior = 2e-3;         // weight of the prior, relative to one block
constexpr double kOff = 0.15;           // an outlier is off by more than this and
constexpr double kOffDeviations = 3.0;  // by this many standard deviations

double square(double x) { return x * x; }

}  // namespace

LinkFit::LinkFit(double gbps, double alpha_us) : alpha_us_(alpha_us), us_per_byte_(8e-3 / gbps) {
    forget();
}

// Blocks of nearly one size do not show how time splits into latency and bandwidth. The prior then
// holds both near their earlier values; it does not fade as blocks do.
void LinkFit::forget() {
    prior_alpha_us_ = std::max(alpha_us_, 1.0);
    prior_us_per_byte_ = us_per_byte_;
    mm_ = mb_ = bb_ = md_ = bd_ = 0;
    relative_variance_ = 0.01;
    blocks_ = 0;
}

double LinkFit::predicted_us(const Sample &sample) const {
    return sample.messages * alpha_us_ + sample.wire_bytes * us_per_byte_;
}

void LinkFit::add(const Sample &sample, double weight) {
    const double w = weight / square(sample.duration_us);
    for (double *sum : {&mm_, &mb_, &bb_, &md_, &bd_}) *sum *= kForget;
    mm_ += w * square(sample.messages);
    mb_ += w * sample.messages * sample.wire_bytes;
    bb_ += w * square(sample.wire_bytes);
    md_ += w * sample.messages * sample.duration_us;
    bd_ += w * sample.wire_bytes * sample.duration_us;
    ++blocks_;
    solve();
}

void LinkFit::solve() {
    const double mm = mm_ + kPrior / square(prior_alpha_us_);
    const double bb = bb_ + kPrior / square(prior_us_per_byte_);
    const double md = md_ + kPrior / prior_alpha_us_;
    const double bd = bd_ + kPrior / prior_us_per_byte_;
    const double determinant = mm * bb - mb_ * mb_;
    double alpha = (md * bb - bd * mb_) / determinant;
    double beta = (bd * mm - md * mb_) / determinant;
    if (!(alpha >= kLeastAlphaUs)) {  // the best fit with the least α
        alpha = kLeastAlphaUs;
        beta = (bd - mb_ * alpha) / bb;
    }
    if (!(beta > 0)) {  // no block was large enough: keep the bandwidth
        beta = us_per_byte_;
        alpha = std::max(kLeastAlphaUs, (md - mb_ * beta) / mm);
    }
    alpha_us_ = alpha;
    us_per_byte_ = beta;
}

bool LinkFit::observe(int ranks, double bytes, double duration_us) {
    if (ranks < 2 || !(duration_us > 0) || !std::isfinite(duration_us) || !(bytes >= 0))
        return false;
    const Sample sample{static_cast<double>(ranks - 1), bytes * (ranks - 1) / ranks, duration_us};
    const double error = predicted_us(sample) / duration_us - 1;
    const double limit = std::max(kOff, kOffDeviations * std::sqrt(relative_variance_));
    if (blocks_ >= kStreak && std::abs(error) > limit) {
        const bool slow = error < 0;
        if (slow != streak_slow_) streak_length_ = 0;
        streak_slow_ = slow;
        streak_[static_cast<size_t>(streak_length_++)] = sample;
        if (streak_length_ < kStreak) {
            add(sample, square(limit / error));  // Huber-like
            return false;
        }
        forget();
        for (const Sample &seen : streak_) add(seen, 1);
        streak_length_ = 0;
        return true;
    }
    streak_length_ = 0;
    add(sample, 1);
    const double now = predicted_us(sample) / duration_us - 1;
    relative_variance_ += (square(now) - relative_variance_) * 0.05;
    return false;
}

LinkEstimate LinkFit::estimate() const {
    const double mm = mm_ + kPrior / square(prior_alpha_us_);
    const double bb = bb_ + kPrior / square(prior_us_per_byte_);
    const double determinant = mm * bb - mb_ * mb_;
    const double gbps = 8e-3 / us_per_byte_;
    const double alpha_variance = relative_variance_ * bb / determinant;
    const double beta_variance = relative_variance_ * mm / determinant;
    return {.alpha_us = alpha_us_,
            .alpha_error_us = std::sqrt(std::max(0.0, alpha_variance)),
            .gbps = gbps,
            .gbps_error = gbps * std::sqrt(std::max(0.0, beta_variance)) / us_per_byte_,
            .blocks = blocks_};
}

}  // namespace ringrt::bucketing
