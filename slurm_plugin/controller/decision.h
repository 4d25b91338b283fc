// SPDX-License-Identifier: BSD-3-Clause
// From an observation to each malleable job's target: the policy's size, the reason, and whether
// the GPUs for it are free now. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/tracker.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

struct Target {
    policy::Job job;  // the policy's input; id 0: not passed to the policy
    policy::Allotment allotment;
    std::string_view why_pinned;  // why the job is left alone; empty: it is not
    int pool = -1;
    int placeable_gpus = 0;       // the largest size up to the target whose GPUs are free now
    int startable_gpus = 0;       // of a pending job: the same without nodes that are completing
    std::vector<int> part_nodes;  // resize in place: the number of nodes of each doubling
    bool gap_contended = false;   // another job would take its GPUs during the restart
    uint32_t moves_for = 0;  // the rigid job whose planned place it occupies; 0: it need not move
    std::vector<int>
        excluded_nodes;  // of a requeued job: nodes that it must not use (lent_exclusions.h)
    uint32_t excluded_checksum = 0;  // their checksum

    [[nodiscard]] bool is_growth() const { return allotment.gpus > job.gpus_now; }
};

struct Plan {
    std::vector<Pool> pools;
    std::vector<Target> targets;  // one per job, in job order
};

[[nodiscard]] Plan decide(const Observation &observation, const std::vector<MalleableJob> &jobs,
                          const std::map<uint32_t, JobTracker> &trackers, const Options &options);

[[nodiscard]] policy::Options policy_options(const Options &options);

}  // namespace ringrt::controller
