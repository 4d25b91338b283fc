// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs malleable jobs may hold, and which are free now.
//
// GPUs above a malleable job's MIN are borrowed: a rigid job that waits and could start with them
// gets them back. Its GPUs are taken out of the capacity on certain nodes, so that the policy
// shrinks the jobs on these nodes and no job grows into them.
#pragma once

#include <string>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

// Nodes that share partitions, and the malleable jobs that may run on them. Node indices are those
// of the observation; other pools' nodes have no GPUs here.
struct Pool {
    std::vector<std::size_t> jobs;  // indices into the views
    policy::Capacity capacity;      // for the policy
    policy::Capacity free;  // free now, less what is kept for waiting rigid jobs; -1: closed
    int smallest_rigid =
        0;  // GPUs of the smallest waiting rigid job for which none are kept; 0: none
    bool somebody_waits = false;  // a rigid job for which GPUs are kept, or a malleable one
    bool room_is_coming = false;  // a resize under way, or about to be asked, will free GPUs
};

// What the nodes of a pool can take of a job at most, with its layout and CPUs. GPUs and CPUs are
// counted as the nodes have them, not as they are free.
struct Reach {
    int gpus_per_node = 1;
    int gpus_in_all = 0;
};
[[nodiscard]] Reach reach_of(const Observation &observation, const Pool &pool,
                             const records::Layout &layout, int cpus_per_task);

[[nodiscard]] std::vector<Pool> make_pools(const Observation &observation,
                                           const std::vector<MalleableJob> &jobs,
                                           const Options &options);

}  // namespace ringrt::controller
