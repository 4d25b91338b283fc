// SPDX-License-Identifier: GPL-2.0-or-later
// The largest size that the limits of a malleable job's account, user and QOS leave it, so that it
// is not asked to leave its GPUs for a size that Slurm would not start.
// Those of GPUs and of CPUs: GrpTRES and MaxTRES of the job's account and of its user there,
// GrpTRES of the accounts above it;
// GrpTRES, MaxTRES, MaxTRESPerUser and MaxTRESPerAccount of its QOS and of its partition's. By
// Slurm's rule those of the partition's QOS replace those of the job's (with OverPartQOS it is the
// other way round), and those of a QOS replace the account's.
#pragma once

#include <slurm/slurm.h>

#include <optional>

#include "slurm_plugin/controller/cluster.h"

namespace ringrt::slurm {

// Of a job with an intent, what it has now included; none: no limit. It may be no size of the job.
[[nodiscard]] std::optional<int> gpus_allowed(const controller::JobRecord &job,
                                              const assoc_mgr_info_msg_t &limits);

}  // namespace ringrt::slurm
