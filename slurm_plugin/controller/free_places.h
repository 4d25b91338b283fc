// SPDX-License-Identifier: BSD-3-Clause
// Which sizes find free GPUs now, and on how many nodes. Pure.
#pragma once

#include <vector>

#include "slurm_plugin/controller/decision.h"

namespace ringrt::controller {

// Which of the targets could be reached at once: waiting jobs first, then growths by their gain.
// What one gets is not there for the next.
void match_free(const Observation &observation, const Pool &pool,
                const std::vector<MalleableJob> &jobs, std::vector<Target> &targets);

}  // namespace ringrt::controller
