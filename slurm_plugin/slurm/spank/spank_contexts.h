// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK plugin's work in each kind of process, and how the options travel between them:
//
//   --malleable=1:8  ->  sbatch: spank_job_control_setenv(MALLEABLE)
//                    ->  slurmctld: job_desc.spank_job_env "MALLEABLE=1:8"        (job_submit reads
//                    it)
//                    ->  the job's environment: SLURM_SPANK_MALLEABLE=1:8         (slurmstepd reads
//                    it)
#pragma once

#include <array>

// Slurm declares the plugin's functions without saying that they are C's.
extern "C" {
#include <slurm/spank.h>
}

namespace ringrt::slurm {

struct FlagName {
    const char *option;     // of sbatch and srun, without the dashes
    const char *variable;   // SBATCH_... sets the same
    const char *control;    // name in the job control environment
    const char *in_job;     // name in the job's environment
    const char *forwarded;  // Slurm's own copy of the option there, which it reads back
};

#define RINGRT_FORWARDED(option) "SLURM_SPANK__SLURM_SPANK_OPTION_malleable_" option
inline constexpr std::array<FlagName, 3> kFlags{{
    {"malleable", "SBATCH_MALLEABLE", "MALLEABLE", "SLURM_SPANK_MALLEABLE",
     RINGRT_FORWARDED("malleable")},
    {"malleable-signal", "SBATCH_MALLEABLE_SIGNAL", "MALLEABLE_SIGNAL",
     "SLURM_SPANK_MALLEABLE_SIGNAL", RINGRT_FORWARDED("malleable_signal")},
    {"malleable-grace", "SBATCH_MALLEABLE_GRACE", "MALLEABLE_GRACE", "SLURM_SPANK_MALLEABLE_GRACE",
     RINGRT_FORWARDED("malleable_grace")},
}};
#undef RINGRT_FORWARDED

// What libringrt goes by in the job.
inline constexpr const char *kForLibrary[] = {"RINGRT_MALLEABLE", "RINGRT_SIGNAL", "RINGRT_GRACE_S",
                                              "RINGRT_CHANNEL"};

// 0: it is not known here.
inline uint32_t number_of(spank_t spank, spank_item_t item) {
    uint32_t value = 0;
    return spank_get_item(spank, item, &value) == ESPANK_SUCCESS ? value : 0;
}

// In every process, from slurm_spank_init().
void register_options(spank_t spank);

// In sbatch, salloc and srun: passes what was given to slurmctld. Values are checked there, so that
// every way of submitting meets the same check; here they are only cut to a bounded length.
void forward_options(spank_t spank);

// In slurmstepd, before a task runs. In the batch step it corrects what is still as at submission
// (SLURM_NTASKS and others), in the others it sets what training frameworks look for; everywhere it
// tells libringrt what was asked for.
void fix_environment(spank_t spank);

// In the slurmstepd of a step: a socket by which rank 0 reaches Slurm, made before the tasks are
// forked, served from then on, and closed at the step's end (doc/channel.md).
void open_channel(spank_t spank);
void serve_channel(spank_t spank);
void close_channel();

// In srun: how it was called, for extensions of its job (doc/live.md); and at its end.
void record_srun(spank_t spank);
void forget_srun();

// In the slurmstepd of the job's script, when it has been started, and when it has ended.
void say_it_goes_on(spank_t spank);
void say_it_is_resized(spank_t spank);

}  // namespace ringrt::slurm
