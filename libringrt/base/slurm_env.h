// SPDX-License-Identifier: BSD-3-Clause
// Who this process is among the job's ranks, as Slurm's environment says: the one parser of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "libringrt/base/status.h"

namespace ringrt {

// The value of an environment variable, or nullptr. For tests; the library gives std::getenv.
using Environment = std::function<const char *(const char *name)>;

struct SlurmIdentity {
    bool in_step = false;       // srun started this process: the ranks below are its step's
    int rank = 0, size = 1;     // one rank alone, where not
    int local_rank = -1;        // within the node; -1: not told
    uint64_t job = 0;           // 0: outside Slurm
    std::string job_name;       // for scontrol: its number, but "100_3" of an array's last task
    uint32_t restart = 0;       // how often the job was requeued
    std::string run = "alone";  // "JOBID.STEPID.RESTARTS"
};

inline constexpr int kRanksMax = 1 << 16;

// From SLURM_JOB_ID, SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID, SLURM_RESTART_COUNT, and in a step
// SLURM_STEP_ID, SLURM_PROCID, SLURM_STEP_NUM_TASKS (or SLURM_NTASKS) and SLURM_LOCALID. A batch
// script's own process has SLURM_PROCID and SLURM_NTASKS too, but no step: it is one rank alone.
// INVALID_ARGUMENT where a step's rank or size is no such number.
Status slurm_identity(const Environment &environment, SlurmIdentity *out);

// What tells apart ranks that could share memory but shall not: RINGRT_NODE, else
// SLURMD_NODENAME (so that several slurmds on one machine count as several nodes, and two jobs on
// one node as one), else SLURM_NODEID, else "". With RINGRT_SHARE_HOST=1 only the machine counts.
[[nodiscard]] std::string node_label();

}  // namespace ringrt
