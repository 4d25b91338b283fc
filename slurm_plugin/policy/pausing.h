// SPDX-License-Identifier: BSD-3-Clause
// Which jobs run, if some may be paused.
//
// Doubling gives each job MIN before any job grows, and never takes MIN away. So in a full cluster
// short jobs wait for long ones. If a job may be paused, its MIN is a growth like any other: from 0
// GPUs, where its value is 0. The heuristic then begins one size lower:
//
//   1. Pinned jobs keep their size. Running jobs that may not be paused get MIN.
//   2. Pending jobs that were not paused get MIN, in their order, while GPUs last.
//   3. The other GPUs go where a growth gains the most per GPU, from 0 to MIN included.
//   4. Jobs that got none are paused, or stay paused. The policy decides the sizes of the others.
//
// The policy also fits sizes to nodes, which 1 to 3 ignore. So the result is compared with the
// decision that pauses no running job, and with the one that also resumes none: the first of them
// that starts the most jobs, and among those has the highest value, is taken. If enough GPUs for
// the MIN of a paused job would stay idle, the decision that also resumes paused jobs is compared
// with it.
//
// GPUs for rigid jobs: if a node has fewer GPUs than the MINs of its jobs, those of its jobs that
// may be paused and gain the least per GPU are paused in any case.
//
// SRTF (baselines/srtf.cpp) stops jobs too. It runs each with the size that its user asked for.
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// `decide` with pauses, in O(n log n) besides at most four calls of it. Without a job that may be
// paused or was paused, it is `decide` alone. options.gain must be relative or short_first: under
// the other rules 0 GPUs have no value, and no job is paused.
[[nodiscard]] std::vector<Allotment> decide_with_pauses(Decide decide, std::span<const Job> jobs,
                                                        const Capacity &capacity,
                                                        const Options &options);

// Doubling with pauses (engine/fast_doubling.h): what slurmctld runs.
[[nodiscard]] std::vector<Allotment> decide_doubling_and_pause(std::span<const Job> jobs,
                                                               const Capacity &capacity,
                                                               const Options &options);

}  // namespace ringrt::policy
