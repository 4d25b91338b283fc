// SPDX-License-Identifier: BSD-3-Clause
// This process's identity among the job's ranks. The only parser of Slurm's environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "libringrt/base/status.h"

namespace ringrt {

// Returns the value of an environment variable, or nullptr. The library passes std::getenv; tests
// pass others.
using Environment = std::function<const char *(const char *name)>;

struct SlurmIdentity {
    bool in_step = false;       // srun started this process: rank and size are its step's
    int rank = 0, size = 1;     // otherwise a single rank
    int local_rank = -1;        // within the node; -1: unknown
    uint64_t job = 0;           // 0: outside Slurm
    std::string job_name;       // for scontrol: its number; "100_3" for an array's last task
    uint32_t restart = 0;       // how often the job was requeued
    std::string run = "alone";  // "JOBID.STEPID.RESTARTS"
};

inline constexpr int kRanksMax = 1 << 16;

// Reads SLURM_JOB_ID, SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID, SLURM_RESTART_COUNT, and in a step
// SLURM_STEP_ID, SLURM_PROCID, SLURM_STEP_NUM_TASKS (or SLURM_NTASKS) and SLURM_LOCALID. A batch
// script's own process has SLURM_PROCID and SLURM_NTASKS but no step: it is a single rank.
// INVALID_ARGUMENT if a step's rank or size is not a valid number.
Status slurm_identity(const Environment &environment, SlurmIdentity *out);

// Distinguishes ranks that could share memory but must not: RINGRT_NODE, or else SLURMD_NODENAME
// (so that several slurmds on one machine count as several nodes, and two jobs on one node as one),
// or else SLURM_NODEID, or else "". With RINGRT_SHARE_HOST=1 all ranks of a machine share memory.
[[nodiscard]] std::string node_label();

}  // namespace ringrt
