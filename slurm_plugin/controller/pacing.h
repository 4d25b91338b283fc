// SPDX-License-Identifier: BSD-3-Clause
// Keeps the controller from repeating at once what has just failed. All of it may be lost with the
// controller: it affects pace, not correctness.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ringrt::controller {

// Blocks one kind of action until a given time.
class Pause {
  public:
    void until(double until_s) { until_s_ = until_s; }
    void end() { until_s_ = 0; }
    [[nodiscard]] bool holds(double now_s) const { return now_s < until_s_; }
    [[nodiscard]] double until_s() const { return until_s_; }  // Unix time

  private:
    double until_s_ = 0;
};

// Since when the policy has wanted a job to grow, or to shrink, without a break.
class Wish {
  public:
    enum class For : uint8_t { nothing, more, less };

    // Call in each pass.
    void update(For wanted, double now_s) {
        if (wanted == for_) return;
        for_ = wanted;
        since_s_ = now_s;
    }
    [[nodiscard]] double since_s() const { return since_s_; }  // Unix time

  private:
    For for_ = For::nothing;
    double since_s_ = 0;
};

// The pause after a called-off resize: doubles each time, up to one day.
class Backoff {
  public:
    void failed(double first_s, double now_s) {
        pause_.until(now_s + std::min(kMost_s, first_s * std::exp2(failures_)));
        failures_ = std::min(failures_ + 1, 20);
    }
    void paused(double for_s, double now_s) { pause_.until(now_s + for_s); }  // not its own failure
    void succeeded() { failures_ = 0; }
    [[nodiscard]] bool holds(double now_s) const { return pause_.holds(now_s); }
    [[nodiscard]] double until_s() const { return pause_.until_s(); }

  private:
    static constexpr double kMost_s = 86400;
    Pause pause_;
    int failures_ = 0;  // in a row
};

// Slurm refused larger sizes, or did not start them although they were free: a limit, or no fitting
// node. They are not retried for half an hour.
class Ceiling {
  public:
    void set(int gpus, double now_s) { gpus_ = gpus, pause_.until(now_s + kLasts_s); }
    [[nodiscard]] bool forbids(int gpus, double now_s) const {
        return pause_.holds(now_s) && gpus > gpus_;
    }
    [[nodiscard]] bool holds(double now_s) const { return pause_.holds(now_s); }
    [[nodiscard]] int gpus() const { return gpus_; }
    [[nodiscard]] double until_s() const { return pause_.until_s(); }

  private:
    static constexpr double kLasts_s = 1800;
    Pause pause_;
    int gpus_ = 0;
};

// Slurm holds a job after a failed launch, for example one that started while remains of its
// old run. The controller undoes this hold, but not indefinitely: a node may be broken.
class LaunchFailures {
  public:
    // Call in each pass. True: another launch has failed.
    bool update(bool is_held) {
        const bool is_new = is_held && !was_held_;
        was_held_ = is_held;
        count_ += is_new;
        return is_new;
    }
    // A long run shows that launches succeed again.
    void ran(double run_s) {
        if (run_s >= kGoodRun_s) count_ = 0;
    }
    // From now on Slurm's hold is treated like a user's: a person should look.
    [[nodiscard]] bool gives_up() const { return count_ > kForgiven; }

  private:
    static constexpr int kForgiven = 3;
    static constexpr double kGoodRun_s = 60;
    bool was_held_ = false;
    int count_ = 0;
};

}  // namespace ringrt::controller
