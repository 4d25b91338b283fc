// SPDX-License-Identifier: BSD-3-Clause
// From what is observed to what each malleable job shall have: the policy's sizes, why, and whether
// the GPUs for them are free now. Pure.
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
    policy::Job job;  // as the policy saw it; id 0: the policy did not see it
    policy::Allotment allotment;
    std::string_view why_pinned;  // why it is left alone; empty: it is not
    int pool = -1;
    int placeable_gpus = 0;       // the largest size up to the target whose GPUs are free now
    std::vector<int> part_nodes;  // of one resized in place: for each doubling, on how many nodes
    bool gap_contended = false;   // another job would take its GPUs while it is away
    uint32_t moves_for = 0;       // the rigid job in whose place it runs; 0: it need not move
    std::vector<int> kept_off;    // of one that comes back: nodes that it is kept off (kept_off.h)
    uint32_t kept_off_sum = 0;    // their checksum
};

struct Plan {
    std::vector<Pool> pools;
    std::vector<Target> targets;  // one per job, in their order
};

[[nodiscard]] Plan decide(const Observation &observation, const std::vector<MalleableJob> &jobs,
                          const std::map<uint32_t, JobTracker> &trackers, const Options &options);

[[nodiscard]] policy::Options policy_options(const Options &options);

}  // namespace ringrt::controller
