// SPDX-License-Identifier: GPL-2.0-or-later
// The table of the flags that the SPANK plugin adds to sbatch, and the path of their values. A new
// flag is a line here (doc/contributing.md):
//
//   --malleable=1:8  ->  sbatch: spank_job_control_setenv(MALLEABLE)
//                    ->  slurmctld: job_desc.spank_job_env "MALLEABLE=1:8" (read by job_submit)
//                    ->  the job's environment: SLURM_SPANK_MALLEABLE=1:8  (read by slurmstepd)
#pragma once

#include <array>

namespace ringrt::slurm {

struct FlagName {
    const char *option;    // of sbatch and srun, without the dashes
    const char *variable;  // SBATCH_... variable with the same effect
    const char *control;   // name in the job control environment
    const char *in_job;    // name in the job's environment
    // Slurm's own copy of the option in the job's environment, which it reads back.
    const char *forwarded;
};

#define RINGRT_FORWARDED(option) "SLURM_SPANK__SLURM_SPANK_OPTION_malleable_" option
inline constexpr std::array<FlagName, 4> kFlags{{
    {"malleable", "SBATCH_MALLEABLE", "MALLEABLE", "SLURM_SPANK_MALLEABLE",
     RINGRT_FORWARDED("malleable")},
    {"malleable-signal", "SBATCH_MALLEABLE_SIGNAL", "MALLEABLE_SIGNAL",
     "SLURM_SPANK_MALLEABLE_SIGNAL", RINGRT_FORWARDED("malleable_signal")},
    {"malleable-grace", "SBATCH_MALLEABLE_GRACE", "MALLEABLE_GRACE", "SLURM_SPANK_MALLEABLE_GRACE",
     RINGRT_FORWARDED("malleable_grace")},
    {"malleable-pause", "SBATCH_MALLEABLE_PAUSE", "MALLEABLE_PAUSE", "SLURM_SPANK_MALLEABLE_PAUSE",
     RINGRT_FORWARDED("malleable_pause")},
}};
#undef RINGRT_FORWARDED

}  // namespace ringrt::slurm
