// SPDX-License-Identifier: BSD-3-Clause
// Why each job has its size, and what would change it: text for `ringstat explain`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/decision.h"
#include "slurm_plugin/controller/in_flight.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/controller/tracker.h"

namespace ringrt::controller {

struct Explanation {
    uint32_t job_id = 0;
    int gpus = 0;        // now
    int wanted = 0;      // by the policy; 0: pending
    std::string reason;  // code
    std::string text;    // why this size, and what would change it
};

// For the controller that decides, with its trackers.
[[nodiscard]] std::vector<Explanation> explain(const Observation &observation,
                                               const std::vector<MalleableJob> &jobs,
                                               const Plan &plan,
                                               const std::map<uint32_t, JobTracker> &trackers,
                                               const Limits &limits, const Options &options);

// For a reader without trackers: what a controller would decide now from the records alone.
[[nodiscard]] std::vector<Explanation> explain(const Observation &observation,
                                               const Options &options);

}  // namespace ringrt::controller
