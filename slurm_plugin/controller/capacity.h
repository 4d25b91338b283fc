// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs malleable jobs may hold, and which are free now.
//
// GPUs above a malleable job's MIN are borrowed: a rigid job that waits and could start with them
// gets them back. Its GPUs are taken out of the capacity on certain nodes, so that the policy
// shrinks the jobs on these nodes and no job grows into them.
#pragma once

#include <cstdint>
#include <map>
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
    // Of each sort (by partition, kind of GPU, features) the smallest waiting rigid job for which
    // no GPUs are kept.
    std::vector<const JobRecord *> unserved;
    std::vector<bool> has_node;  // which nodes are the pool's
    // Nodes on which a place is kept clear, and the jobs (indices into the views) that have to
    // leave it, each with the rigid job for which it does (rigid_plan.h).
    std::vector<int> kept_clear;
    std::map<std::size_t, uint32_t> moving;
    bool is_mixed = false;        // they differ in partitions, kinds of GPU or reservations
    bool somebody_waits = false;  // a rigid job for which GPUs are kept, or a malleable one
    bool room_is_coming = false;  // a resize under way, or about to be asked, will free GPUs
};

[[nodiscard]] std::vector<Pool> make_pools(const Observation &observation,
                                           const std::vector<MalleableJob> &jobs,
                                           const Options &options);

}  // namespace ringrt::controller
