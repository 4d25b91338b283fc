// SPDX-License-Identifier: BSD-3-Clause
// What keeps the controller from asking again and again for what has just failed. All of it may be
// lost with the controller: it is about pace, not about truth.
#pragma once

#include <algorithm>
#include <cmath>

namespace ringrt::controller {

// Nothing of a kind is done before some time.
class Pause {
  public:
    void until(double until_s) { until_s_ = until_s; }
    void end() { until_s_ = 0; }
    [[nodiscard]] bool holds(double now_s) const { return now_s < until_s_; }
    [[nodiscard]] double until_s() const { return until_s_; }  // Unix time

  private:
    double until_s_ = 0;
};

// The pause after a resize that was called off: doubles each time, to a day at most.
class Backoff {
  public:
    void failed(double first_s, double now_s) {
        pause_.until(now_s + std::min(kMost_s, first_s * std::exp2(failures_)));
        failures_ = std::min(failures_ + 1, 20);
    }
    void paused(double for_s, double now_s) { pause_.until(now_s + for_s); }  // no failure of its
    void succeeded() { failures_ = 0; }
    [[nodiscard]] bool holds(double now_s) const { return pause_.holds(now_s); }
    [[nodiscard]] double until_s() const { return pause_.until_s(); }

  private:
    static constexpr double kMost_s = 86400;
    Pause pause_;
    int failures_ = 0;  // in a row
};

// Larger sizes were refused by Slurm, or did not start although they were free: a limit, or no node
// that fits. They are not tried again for half an hour.
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

// Slurm holds a job whose launch failed, such as one that was started beside what was left of its
// old run. Nobody asked for that hold, so it is undone; not for ever, for a node may be broken.
class LaunchFailures {
  public:
    // In each pass. True: one more launch has failed.
    bool update(bool is_held) {
        const bool is_new = is_held && !was_held_;
        was_held_ = is_held;
        count_ += is_new;
        return is_new;
    }
    // A run that lasts shows that launches succeed again.
    void ran(double run_s) {
        if (run_s >= kGoodRun_s) count_ = 0;
    }
    // From now on Slurm's hold counts like a user's: somebody should look.
    [[nodiscard]] bool gives_up() const { return count_ > kForgiven; }

  private:
    static constexpr int kForgiven = 3;
    static constexpr double kGoodRun_s = 60;
    bool was_held_ = false;
    int count_ = 0;
};

}  // namespace ringrt::controller
