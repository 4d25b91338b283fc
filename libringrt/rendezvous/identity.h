// SPDX-License-Identifier: BSD-3-Clause
// Who this process is among the job's ranks, as the environment says.
#pragma once

#include <string>

namespace ringrt {

struct Identity {
    int rank = 0, size = 1;
    int local_rank = -1;  // -1: not told
    std::string job;      // "JOBID.STEPID.RESTARTS", or "alone"
};

// From SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_JOB_ID, SLURM_STEP_ID and
// SLURM_RESTART_COUNT. A batch script's own process (a job but no step) is one rank alone, whatever
// SLURM_NTASKS says: the step's ranks are started by srun.
[[nodiscard]] Identity identity_from_environment();

// What tells apart ranks that could share memory but shall not: RINGRT_NODE, else SLURM_NODEID (so
// that several slurmds on one machine count as several nodes), else "". With RINGRT_SHARE_HOST=1
// only the machine counts.
[[nodiscard]] std::string node_label();

}  // namespace ringrt
