// SPDX-License-Identifier: GPL-2.0-or-later
// The largest size that the limits of a malleable job's account, user and QOS allow. It keeps a job
// from giving up its GPUs for a size that Slurm would not start.
//
// Limits on GPUs, CPUs, memory, nodes and billing count: GrpTRES and MaxTRES of the job's account
// and of its user there, GrpTRES of the accounts above; GrpTRES, MaxTRES, MaxTRESPerUser and
// MaxTRESPerAccount of its QOS and of its partition's QOS. By Slurm's rule, the limits of the
// partition's QOS replace those of the job's QOS (the reverse with OverPartQOS), and those of a QOS
// replace the account's. If the need of a size is unknown, no size is refused: nodes may be shared
// with other jobs below the limit, and billing is known only for a running job.
#pragma once

#include <slurm/slurm.h>

#include <optional>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// What else decides: the most GPUs on any node of the cluster, and whether a job starts only if its
// time limit fits into the minutes that are left (AccountingStorageEnforce=safe).
struct SiteLimits {
    int most_on_a_node = 0;
    bool is_safe = false;
};

// `job` needs an intent and its accounts_above. The result includes what it has now and need not be
// a size of the job; none: no limit.
[[nodiscard]] std::optional<int> gpus_allowed(const controller::JobRecord &job,
                                              const assoc_mgr_info_msg_t &limits,
                                              const SiteLimits &site);

}  // namespace ringrt::slurm
