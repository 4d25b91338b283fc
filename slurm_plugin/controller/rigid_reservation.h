// SPDX-License-Identifier: BSD-3-Clause
// Removes GPUs from a pool for the rigid jobs that are pending in it, on the nodes where they could
// start if malleable jobs returned what they borrowed: as many as they need themselves, and as many
// as hold CPUs and memory that they need. For the first rigid job that could not start
// that way, it takes the nodes where that job will start (rigid_plan.h). Also for the MIN of
// pending malleable jobs that need nodes that are powered down.
#pragma once

#include <vector>

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/node_room.h"

namespace ringrt::controller {

void reserve_for_rigid(Pool &pool, const Observation &observation,
                       const std::vector<MalleableJob> &jobs, NodeRoom &node_room,
                       std::vector<const JobRecord *> waiting, const Options &options);

}  // namespace ringrt::controller
