// SPDX-License-Identifier: BSD-3-Clause
// The doubling heuristic (arXiv 1908.08082): first GPUs in priority and arrival order, then the job
// that gains the most per GPU is doubled, again and again. A priority queue makes it O(n log n).
//
//   gain(w) = (t(w) − t(2w)) / w,   t(w) = steps left · T(w)  [s], plus the cost of a restart where w
//                                          is not the size that the job runs at
//
// The cost of a restart makes a growth pay for itself and protects the present size. Two proposals are
// made: one from MIN up, as in the paper, and one from the present sizes up. The first is taken only
// where it serves more jobs, or shortens the sum of all remaining times, restarts included. So every
// voluntary change lowers that sum by more than its restarts cost, and decisions cannot flap.
#pragma once

#include <span>
#include <vector>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

[[nodiscard]] std::vector<Allotment> decide_doubling(std::span<const Job> jobs,
                                                     const Capacity &capacity,
                                                     const Options &options);

// Steps left, or what is assumed where that is not known: as many as were done (the more a job has
// received, the more it is expected to need, as in Tiresias), at least options.steps_assumed.
[[nodiscard]] double steps_left(const Job &job, const Options &options);

// Seconds that the job needs from now on at `gpus` GPUs, a restart included where it needs one.
[[nodiscard]] double remaining_s(const Job &job, int gpus, const Options &options);

}  // namespace ringrt::policy
