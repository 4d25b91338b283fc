// SPDX-License-Identifier: GPL-2.0-or-later
// libslurm, in a program that links it. Not for plugins: the daemon that loads them has done this.
#pragma once

namespace ringrt::slurm {

// Must come before the first call of libslurm, and may come again. Slurm 22.05 does without; 24.11
// ends a program that leaves it out, and 26.05 crashes. Where there is no slurm.conf, it says so
// and ends the program with status 1.
void init_slurm_library();

}  // namespace ringrt::slurm
