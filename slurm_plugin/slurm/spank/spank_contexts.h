// SPDX-License-Identifier: GPL-2.0-or-later
// The SPANK plugin's work in each kind of process. sbatch_flags.h has the flags.
#pragma once

// Slurm declares the plugin's functions without C linkage.
extern "C" {
#include <slurm/spank.h>
}

namespace ringrt::slurm {

// The variables that libringrt reads in the job.
inline constexpr const char *kForLibrary[] = {"RINGRT_MALLEABLE", "RINGRT_SIGNAL", "RINGRT_GRACE_S",
                                              "RINGRT_CHANNEL"};

// 0: not known here.
inline uint32_t number_of(spank_t spank, spank_item_t item) {
    uint32_t value = 0;
    return spank_get_item(spank, item, &value) == ESPANK_SUCCESS ? value : 0;
}

// In every process, called from slurm_spank_init().
void register_options(spank_t spank);

// In sbatch, salloc and srun: passes the given values to slurmctld, which checks them, so that
// every kind of submission gets the same check. Here they are only cut to a bounded length.
void forward_options(spank_t spank);

// In slurmstepd, before a task runs. In the batch step, corrects variables that still have the
// values of the submission (SLURM_NTASKS and others). In the other steps, sets the variables that
// training frameworks expect. In both, passes the requested options to libringrt.
void fix_environment(spank_t spank);

// In the slurmstepd of a step: a socket by which rank 0 reaches Slurm. It is created before the
// tasks are forked, served from then on, and closed at the step's end (doc/channel.md).
void open_channel(spank_t spank);
void serve_channel(spank_t spank);
void close_channel();

// In srun: records its call, for extensions of its job (doc/live.md), and removes the record at its
// end.
void record_srun(spank_t spank);
void forget_srun();

// In the slurmstepd of the job's script, after its start and after its end.
void report_restart(spank_t spank);
void report_resize(spank_t spank);

}  // namespace ringrt::slurm
