// SPDX-License-Identifier: BSD-3-Clause
// While a place is kept clear for a rigid job (rigid_plan.h), a job that comes back from a resize
// is kept off its nodes: Slurm has them as its excluded nodes (ExcNodeList). That list is lent.
// Slurm changes it of a pending job only: it has no effect while the job runs, and is taken back
// when the job waits again. Who names nodes of their own, to have or not to have, is lent none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::controller {

// Of the nodes' names, so that nodes that come or go change nothing; 0: of no nodes.
[[nodiscard]] uint32_t checksum_of(const std::vector<int> &excluded,
                                   std::span<const NodeRecord> nodes);

// Takes the list of excluded nodes out of a record where it is the one that is lent: for everything
// but the next update the job has none. Part of reading a record, after its intent.
void take_out_lent_list(JobRecord &record, std::span<const NodeRecord> nodes);

[[nodiscard]] inline bool names_nodes(const JobRecord &record) {
    return record.has_node_list || !record.excluded_nodes.empty();
}

}  // namespace ringrt::controller
