// SPDX-License-Identifier: GPL-2.0-or-later
// What those who wait at a limit of their account or QOS lack below it, as slurmctld counts.
#pragma once

#include <slurm/slurm.h>

#include <vector>

#include "slurm_plugin/controller/cluster.h"
#include "slurm_plugin/slurm/cluster/api_times.h"

namespace ringrt::slurm {

// Sets at_limit.short_by. Asks slurmctld only where one waits at such a limit beside a malleable
// job; where it does not answer, what is short stays unknown (0).
void note_shortages(std::vector<controller::JobRecord> &jobs, ApiTimes &api);

// Of one job.
[[nodiscard]] controller::SharedLimit with_shortage(const controller::JobRecord &job,
                                                    const assoc_mgr_info_msg_t &limits);

}  // namespace ringrt::slurm
