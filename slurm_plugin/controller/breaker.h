// SPDX-License-Identifier: BSD-3-Clause
// The circuit breaker: where the resizes of several jobs in a row went wrong, something is the
// matter with the cluster and not with a job, and no further job is asked for a while. After that
// one job is tried; the next failure opens the breaker again, the next success closes it for good.
#pragma once

#include <cstdint>
#include <set>

namespace ringrt::controller {

class Breaker {
  public:
    // A resize of this job was called off, refused, or the job was lost over it. One job that fails
    // again and again counts once: it has its own back-off. True: the breaker has just opened.
    bool failed(uint32_t job_id, double now_s, int jobs_most, double pause_s);
    void succeeded();

    [[nodiscard]] bool is_open(double now_s) const { return now_s < until_s_; }
    [[nodiscard]] double until_s() const { return until_s_; }  // Unix time; 0: never open yet
    // How many may be under way at once, of `most`: none while open, one until the next success.
    [[nodiscard]] int in_flight_most(double now_s, int most) const;

  private:
    std::set<uint32_t> failed_;  // since the last success
    double until_s_ = 0;
    bool on_trial_ = false;
};

}  // namespace ringrt::controller
