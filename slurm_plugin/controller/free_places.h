// SPDX-License-Identifier: BSD-3-Clause
// Which sizes find free GPUs now, and on how many nodes. Pure.
#pragma once

#include <vector>

#include "slurm_plugin/controller/decision.h"

namespace ringrt::controller {

// Sets which targets can be reached at once: pending jobs first, then growths by gain. GPUs given
// to one job are not available to the next.
void match_free(const Observation &observation, const Pool &pool,
                const std::vector<MalleableJob> &jobs, std::vector<Target> &targets);

}  // namespace ringrt::controller
