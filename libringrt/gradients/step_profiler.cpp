// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/step_profiler.h"

#include <algorithm>
#include <cmath>

namespace ringrt {
namespace {

constexpr double kOff = 0.2;  // relative deviation of a step's backward pass from the mean
constexpr int kStepsToAgree = 3;

}  // namespace

StepProfiler::StepProfiler(const std::vector<uint64_t> &gradient_bytes)
    : bytes_(gradient_bytes),
      ready_(bytes_.size()),
      forward_(bytes_.size()),
      ready_now_(bytes_.size(), -1),
      forward_now_(bytes_.size(), -1) {}

bool StepProfiler::restore(const bucketing::Profile &profile) {
    if (profile.gradients.size() != bytes_.size()) return false;
    for (size_t i = 0; i < bytes_.size(); ++i) {
        if (profile.gradients[i].bytes != bytes_[i]) return false;
    }
    for (size_t i = 0; i < bytes_.size(); ++i) {
        ready_[i] = {.value = profile.gradients[i].ready_us, .known = true};
        forward_[i] = {.value = profile.gradients[i].forward_us, .known = true};
    }
    steps_ = 1;
    return true;
}

void StepProfiler::begin_backward(double now_us) {
    if (backward_start_us_ < 0) backward_start_us_ = now_us;
}

void StepProfiler::ready(uint32_t id, double now_us) {
    ready_now_[id] = std::max(0.0, now_us - backward_start_us_);
}

void StepProfiler::begin_wait(double now_us) {
    if (wait_ended_us_ >= 0) forward_now_[waited_] = std::max(0.0, now_us - wait_ended_us_);
}

void StepProfiler::end_wait(uint32_t id, double now_us) {
    wait_ended_us_ = now_us;
    waited_ = id;
}

bool StepProfiler::end_step() {
    double backward = 0, mean = 0;
    for (size_t i = 0; i < bytes_.size(); ++i) {
        backward = std::max(backward, ready_now_[i]);
        mean = std::max(mean, ready_[i].value);
    }
    off_ = steps_ > 0 && std::abs(backward - mean) > kOff * mean ? off_ + 1 : 0;
    const bool changed = off_ >= kStepsToAgree;
    if (changed) {
        for (Mean &one : ready_) one.known = false;
        for (Mean &one : forward_) one.known = false;
        off_ = 0;
    }
    for (size_t i = 0; i < bytes_.size(); ++i) {
        if (ready_now_[i] >= 0) ready_[i].add(ready_now_[i]);
        if (forward_now_[i] >= 0) forward_[i].add(forward_now_[i]);
        ready_now_[i] = forward_now_[i] = -1;
    }
    ++steps_;
    backward_start_us_ = wait_ended_us_;  // the next backward pass begins
    wait_ended_us_ = -1;
    return changed;
}

bucketing::Profile StepProfiler::profile() const {
    bucketing::Profile out{.name = "measured"};
    for (size_t i = 0; i < bytes_.size(); ++i) {
        out.gradients.push_back({{}, bytes_[i], forward_[i].value, ready_[i].value});
    }
    return out;
}

}  // namespace ringrt
