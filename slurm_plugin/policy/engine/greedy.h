// SPDX-License-Identifier: BSD-3-Clause
// Greedy growth: the job that gains the most per GPU grows, again and again, while it fits.
//
// The order in which growths are granted does not matter while all of them fit. So those above a
// threshold of gain, found by selection in O(n), are granted at once, and only the rest, where GPUs
// become scarce, goes through a heap. The result is that of the heap alone, ties by rank included.
#pragma once

#include <limits>
#include <vector>

#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/engine/size_table.h"

namespace ringrt::policy {

// Levels by rank. Returns what the whole decision may fall short of the best without nodes by, in
// value: the first refused gain times the GPUs that were free then, less what was granted after.
// (The relaxation of the knapsack to fractions, Dantzig 1957; exact for gains that fall along a
// ladder.)
//
// `likely`: a gain above which all growths are likely to fit; it changes nothing but the time.
double grow(const SizeTable &table, std::vector<Level> &levels, BlockBound &room,
            double likely = std::numeric_limits<double>::infinity());

}  // namespace ringrt::policy
