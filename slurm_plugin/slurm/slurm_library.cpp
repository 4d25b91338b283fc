// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/slurm_library.h"

#include <slurm/slurm.h>

namespace ringrt::slurm {

void init_slurm_library() {
    [[maybe_unused]] static const bool ready = (slurm_init(nullptr), true);
}

}  // namespace ringrt::slurm
