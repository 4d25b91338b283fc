// SPDX-License-Identifier: GPL-2.0-or-later
// libslurm, in a program that links it. Not for plugins: the daemon that loads them initialises it.
#pragma once

namespace ringrt::slurm {

// Must precede the first call of libslurm; repeated calls are harmless. Without it, Slurm 22.05
// works, 24.11 ends the program and 26.05 crashes. If there is no slurm.conf, it prints an error
// and ends the program with status 1.
void init_slurm_library();

}  // namespace ringrt::slurm
