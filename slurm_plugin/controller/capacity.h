// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs malleable jobs may hold, and which are free now.
//
// GPUs above a malleable job's MIN are borrowed, and all GPUs of a job that may be paused. A
// pending rigid job that could start with them gets them back: its GPUs are subtracted from the
// capacity of certain nodes, so the policy shrinks the jobs there and no job grows into them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/controller/options.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

// Nodes that share partitions, and the malleable jobs that may run on them. Node indices are those
// of the observation; nodes of other pools have no GPUs here.
class NodeRoom;

struct Pool {
    std::vector<std::size_t> jobs;  // indices into the views
    policy::Capacity capacity;      // for the policy
    policy::Capacity free;  // free now, minus GPUs reserved for pending rigid jobs; -1: closed
    // Per node: free GPUs of nodes that are powered down or boot (closed: malleable jobs do not
    // grow onto them), minus those that pending rigid jobs will get.
    std::vector<int> asleep;
    // The smallest pending rigid job without reserved GPUs, for each combination of partition, GPU
    // type, features, required and excluded nodes.
    std::vector<const JobRecord *> unserved;
    std::vector<bool> has_node;  // which nodes belong to the pool
    // The nodes reserved for a rigid job's planned place, and the jobs (indices into the views)
    // that must leave them, each with that rigid job's ID and a place for its MIN (rigid_plan.h).
    struct Move {
        uint32_t rigid = 0;
        std::vector<policy::NodeShare> to;
    };
    std::vector<int> reserved_nodes;
    std::map<std::size_t, Move> moving;
    // For pending malleable jobs, by ID: a place for MIN among idle and borrowed GPUs. The policy
    // does not know which nodes they may use.
    std::map<uint32_t, std::vector<policy::NodeShare>> min_places;
    bool is_mixed = false;        // its nodes differ in partitions, GPU types or reservations
    bool has_pending = false;     // a pending malleable job, or a rigid job with reserved GPUs
    bool room_is_coming = false;  // a resize under way, or about to be asked, will free GPUs

    [[nodiscard]] int asleep_on(std::size_t node) const {
        return node < asleep.size() ? asleep[node] : 0;
    }
    // For a pending rigid job.
    void take_asleep(std::size_t node, int gpus) {
        if (node < asleep.size()) asleep[node] = std::max(0, asleep[node] - gpus);
    }
};

// Whether Slurm would start the pending job if there were room.
[[nodiscard]] bool waits_for_room(const JobRecord &job, double now_s);

// Whether the MIN of a pending malleable job is placed like a rigid job's GPUs, because the policy
// does not see all that decides where it can start: nodes that are powered down, and nodes that the
// job may not use.
[[nodiscard]] bool needs_place_for_min(const MalleableJob &job, const Pool &pool, double now_s);

// node_room: of the observation. What pending rigid jobs get is taken from it.
[[nodiscard]] std::vector<Pool> make_pools(const Observation &observation,
                                           const std::vector<MalleableJob> &jobs,
                                           NodeRoom &node_room, const Options &options);

// Whether an unserved job of the same shape needs no more than this one.
[[nodiscard]] bool has_unserved_like(const Pool &pool, const JobRecord &rigid);
void note_unserved(Pool &pool, const JobRecord &rigid);

// For the policy: if no job of the pool requests a GPU type, it sees nodes, in its input as well.
// Otherwise it sees their parts (node_parts.h), because jobs of one type cannot have another.
[[nodiscard]] policy::Capacity capacity_for(const Pool &pool, const Observation &observation,
                                            const std::vector<MalleableJob> &jobs,
                                            std::vector<policy::Job> &input);

}  // namespace ringrt::controller
