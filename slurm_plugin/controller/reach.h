// SPDX-License-Identifier: BSD-3-Clause
// Which nodes a job may use, from Slurm's listings of both: partitions, GPU type, features,
// excluded nodes, upcoming reservations. A feature expression that is more than names joined by "&"
// is assumed to allow every node: Slurm decides at the start anyway.
#pragma once

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

// A reservation of the node begins before the job's time limit ends. Slurm lets a running job stay
// until then, but does not start it there.
[[nodiscard]] bool is_reserved_too_soon(const JobRecord &job, const NodeRecord &node);

// Whether it is for jobs of another user as long as one runs there.
[[nodiscard]] inline bool is_of_another(const JobRecord &job, const NodeRecord &node) {
    return node.owner && *node.owner != job.user_id;
}

[[nodiscard]] bool may_use(const JobRecord &job, const NodeRecord &node, int node_index);

// Whether both may use the same nodes.
[[nodiscard]] bool have_same_nodes(const JobRecord &a, const JobRecord &b);

// Whether the job may use some nodes of the pool and not others.
[[nodiscard]] bool has_different_nodes(const JobRecord &job, const Pool &pool);

// False: every node of the pool is usable, and no per-node check is needed.
[[nodiscard]] bool is_choosy(const JobRecord &job, const Pool &pool);

// The most that the nodes of a pool can take of a job, given its layout and CPUs per task.
struct Reach {
    int gpus_per_node = 1;  // by all GPUs and CPUs of the nodes, not only free ones
    int nodes = 0;
    int gpus_in_all = 0;
    int gpus_lent = 0;  // the same without what rigid jobs hold and are to get
};
[[nodiscard]] Reach reach_of(const Observation &observation, const Pool &pool, const JobRecord &job,
                             const records::Layout &layout);
// The largest size from `min` up to `most` for which there are enough nodes to share it evenly, but
// not less than `kept`; `most` if that is less than `min`.
[[nodiscard]] int most_evenly(const Reach &reach, const records::Layout &layout, int min, int kept,
                              int most);

}  // namespace ringrt::controller
