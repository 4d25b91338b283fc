// SPDX-License-Identifier: BSD-3-Clause
// Why each job has its size, and what would change it: in words, for `ringstat explain`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

struct Explanation {
    uint32_t job_id = 0;
    int gpus = 0;        // now
    int wanted = 0;      // by the policy; 0: it waits
    std::string reason;  // code
    std::string text;    // why this size, and what would change it
};

// What keeps the controller from asking: of all jobs, or of one user's.
struct Limit {
    int in_flight = 0;          // resizes under way
    int in_flight_most = 1000;  // at once
    double paused_until_s = 0;  // by the circuit breaker; Unix time
};

struct Limits {
    Limit all;
    std::map<uint32_t, Limit> of_user;  // of those who have any
};

// By the controller that decides: with what it tracks of each job.
[[nodiscard]] std::vector<Explanation> explain(const Observation &observation,
                                               const std::vector<MalleableJob> &jobs,
                                               const Plan &plan,
                                               const std::map<uint32_t, JobTracker> &trackers,
                                               const Limits &limits, const Options &options);

// By one who only looks: what a controller that knows nothing but the records would decide now.
[[nodiscard]] std::vector<Explanation> explain(const Observation &observation,
                                               const Options &options);

}  // namespace ringrt::controller
