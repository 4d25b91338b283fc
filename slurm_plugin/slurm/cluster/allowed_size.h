// SPDX-License-Identifier: GPL-2.0-or-later
// The largest size that the limits of a malleable job's account, user and QOS leave it, so that it
// is not asked to leave its GPUs for a size that Slurm would not start.
// Those of GPUs, CPUs, memory, nodes and billing: GrpTRES and MaxTRES of the job's account and of
// its user there, GrpTRES of the accounts above it; GrpTRES, MaxTRES, MaxTRESPerUser and
// MaxTRESPerAccount of its QOS and of its partition's. By Slurm's rule those of the partition's QOS
// replace those of the job's (with OverPartQOS it is the other way round), and those of a QOS
// replace the account's. Where it cannot be told what a size takes, no size is refused: nodes that
// others below the limit have may be the same ones, and billing is known of a job that runs.
#pragma once

#include <slurm/slurm.h>

#include <optional>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// Of a job with an intent and its accounts_above, what it has now included; none: no limit. It may
// be no size of the job. most_on_a_node: the most GPUs that a node of the cluster has.
[[nodiscard]] std::optional<int> gpus_allowed(const controller::JobRecord &job,
                                              const assoc_mgr_info_msg_t &limits,
                                              int most_on_a_node);

}  // namespace ringrt::slurm
