// SPDX-License-Identifier: BSD-3-Clause
// The resizes under way, in all and for each user, compared with the limits: the site's limit and
// the circuit breakers.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "slurm_plugin/controller/breaker.h"
#include "slurm_plugin/controller/job.h"

namespace ringrt::controller {

// What keeps the controller from asking all jobs, or the jobs of one user.
struct Limit {
    int in_flight = 0;          // resizes under way
    int in_flight_most = 1000;  // allowed at once
    double paused_until_s = 0;  // by the circuit breaker; Unix time

    [[nodiscard]] bool is_reached() const { return in_flight >= in_flight_most; }
};

struct Limits {
    Limit all;
    std::map<uint32_t, Limit> of_user;  // users with malleable jobs
};

class InFlight {
  public:
    // A silent job restarts nothing: it counts toward its user's limit but not toward the limit of
    // all. A breaker's trial still waits for it.
    void add(uint32_t user_id, bool is_silent);
    [[nodiscard]] int count() const { return count_; }

    [[nodiscard]] bool may_ask(uint32_t user_id, const Breaker &breaker, int most,
                               double now_s) const {
        return !of_all(breaker, most, now_s).is_reached() &&
               !of_user(user_id, breaker, most, now_s).is_reached();
    }
    [[nodiscard]] Limit of_all(const Breaker &breaker, int most, double now_s) const;
    [[nodiscard]] Limit of_user(uint32_t user_id, const Breaker &breaker, int most,
                                double now_s) const;

  private:
    int count_ = 0, silent_ = 0;
    std::map<uint32_t, int> by_user_;
};

[[nodiscard]] Limits limits_of(const std::vector<MalleableJob> &jobs, const InFlight &in_flight,
                               const Breaker &breaker, int most, double now_s);

}  // namespace ringrt::controller
