// SPDX-License-Identifier: BSD-3-Clause
// The circuit breaker. After the resizes of several jobs in a row went wrong, no further job is
// asked for a while. Then one job is tried: the next failure opens the breaker again, the next
// success closes it. Each user has a breaker, because that user's jobs may be the ones that never
// answer. When the resizes of the same number of users went wrong in a row, the fault is in the
// cluster, and no job is asked.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace ringrt::controller {

// One breaker. Repeated failures of one job or user count once: each job has its own backoff.
class Circuit {
  public:
    bool failed(uint32_t who, double now_s, int most, double pause_s);  // true: it has just opened
    void succeeded();

    [[nodiscard]] bool is_open(double now_s) const { return now_s < until_s_; }
    [[nodiscard]] bool is_on_trial() const { return on_trial_; }
    [[nodiscard]] double until_s() const { return until_s_; }  // Unix time; 0: never opened
    // How many of `most` may be under way at once: none while open, one until the next success.
    [[nodiscard]] int in_flight_most(double now_s, int most) const;

  private:
    std::set<uint32_t> failed_;  // since the last success
    double until_s_ = 0;
    bool on_trial_ = false;
};

class Breaker {
  public:
    enum class Opened : uint8_t { none, user, all };
    // A resize of this job was called off or refused, or the job was lost during it.
    Opened failed(uint32_t user_id, uint32_t job_id, double now_s, int most, double pause_s);
    void succeeded(uint32_t user_id);

    [[nodiscard]] const Circuit &all() const { return all_; }
    [[nodiscard]] const Circuit &of(uint32_t user_id) const;

  private:
    static constexpr std::size_t kUsersMost = 10000;
    Circuit all_;                          // counts users
    std::map<uint32_t, Circuit> of_user_;  // each counts its jobs
};

}  // namespace ringrt::controller
