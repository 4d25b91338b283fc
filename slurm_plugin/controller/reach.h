// SPDX-License-Identifier: BSD-3-Clause
// Which nodes a job may use, by what Slurm's listings say of both: its partitions, its kind of GPU,
// its features, the nodes that it excludes, the reservations ahead. A feature expression that is
// more than names joined by
// "&" is taken to allow every node: Slurm has the last word anyway, at the start.
#pragma once

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

// A reservation of the node begins before the job's time limit ends: Slurm lets it run there until
// then, but does not start it there.
[[nodiscard]] bool is_reserved_too_soon(const JobRecord &job, const NodeRecord &node);

[[nodiscard]] bool may_use(const JobRecord &job, const NodeRecord &node, int node_index);

// False: every node of the pool will do, without a look at each.
[[nodiscard]] bool is_choosy(const JobRecord &job, const Pool &pool);

// What the nodes of a pool can take of a job at most, with its layout and its CPUs a task.
struct Reach {
    int gpus_per_node = 1;  // GPUs and CPUs as the nodes have them, not as they are free
    int gpus_in_all = 0;
    int gpus_lent = 0;  // the same without what rigid jobs hold and are to get
};
[[nodiscard]] Reach reach_of(const Observation &observation, const Pool &pool, const JobRecord &job,
                             const records::Layout &layout);

}  // namespace ringrt::controller
