// SPDX-License-Identifier: BSD-3-Clause
// GPUs of a pool taken out for the rigid jobs that wait in it, on the nodes where they could start
// if malleable jobs gave back what they have borrowed; for the first of those that could not, on
// the nodes where they will (rigid_plan.h).
#pragma once

#include <vector>

#include "slurm_plugin/controller/capacity.h"

namespace ringrt::controller {

void reserve_for_rigid(Pool &pool, const Observation &observation,
                       const std::vector<MalleableJob> &jobs,
                       std::vector<const JobRecord *> waiting, Reclaim reclaim);

}  // namespace ringrt::controller
