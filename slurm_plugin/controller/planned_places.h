// SPDX-License-Identifier: BSD-3-Clause
// Jobs for which a place is planned, as the policy sees them: jobs that move for a rigid job, and
// pending jobs whose MIN is placed among borrowed GPUs. Pure.
#pragma once

#include "slurm_plugin/controller/capacity.h"
#include "slurm_plugin/controller/decision.h"

namespace ringrt::controller {

// Changes `seen`, the policy's input for a job (index into the views) that moves.
void let_move(const Pool &pool, std::size_t index, const JobRecord &record, Target &target,
              policy::Job &seen);
// Changes `seen` for a pending job whose MIN has a place.
void place_min(const Pool &pool, const Target &target, policy::Job &seen);
// Call with the policy's decision.
void take_moves(const Pool &pool, Target &target);

}  // namespace ringrt::controller
