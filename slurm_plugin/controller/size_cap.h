// SPDX-License-Identifier: BSD-3-Clause
// What keeps a job below its MAX, whatever it would gain from a larger size. Pure.
#pragma once

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/job.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::controller {

// What the nodes that the job may use can give it in even shares.
void cap_by_reach(const Observation &observation, const Pool &pool, const MalleableJob &of,
                  policy::Job &job);

// What shared limits allow. A job that is pending for its first GPUs gets MIN.
void cap_by_limits(const MalleableJob &of, const Options &options, policy::Job &job);

}  // namespace ringrt::controller
