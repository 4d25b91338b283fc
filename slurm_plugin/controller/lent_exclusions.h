// SPDX-License-Identifier: BSD-3-Clause
// While nodes are reserved for a rigid job (rigid_plan.h), a job that restarts after a resize is
// kept off them: they become its excluded nodes in Slurm (ExcNodeList). That list is lent. Slurm
// changes it only for a pending job: it has no effect while the job runs, and is removed when the
// job is pending again. A job that requests or excludes nodes itself gets no lent list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

// Checksum of the nodes' names, so that added or removed nodes do not change it; 0: no nodes.
[[nodiscard]] uint32_t checksum_of(const std::vector<int> &excluded,
                                   std::span<const NodeRecord> nodes);

// Removes the list of excluded nodes from a record if it is the lent one: only the next update sees
// it. Part of reading a record, after its intent.
void take_out_lent_list(JobRecord &record, std::span<const NodeRecord> nodes);

[[nodiscard]] inline bool names_nodes(const JobRecord &record) {
    return record.has_node_list || !record.excluded_nodes.empty();
}

}  // namespace ringrt::controller
