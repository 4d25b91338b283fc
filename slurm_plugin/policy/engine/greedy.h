// SPDX-License-Identifier: BSD-3-Clause
// Greedy growth: the job that gains the most per GPU grows, repeatedly, while it fits.
//
// The order in which growths are granted does not matter while all of them fit. So the growths
// above a gain threshold, found by selection in O(n), are granted at once. Only the rest, for which
// GPUs are scarce, goes through a heap. The result equals that of the heap alone, including ties by
// rank.
#pragma once

#include <limits>
#include <vector>

#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/engine/size_table.h"

namespace ringrt::policy {

// `levels` is by rank. Returns the largest possible shortfall, in value, of the decision from the
// best one that ignores nodes: the first refused gain times the GPUs that were free then, minus
// later grants. (The fractional relaxation of the knapsack, Dantzig 1957; exact if gains fall along
// a ladder.)
//
// `likely`: a gain above which all growths probably fit. It affects only the run time.
double grow(const SizeTable &table, std::vector<Level> &levels, BlockBound &room,
            double likely = std::numeric_limits<double>::infinity());

struct Edge {         // one growth of a job
    double gain = 0;  // the least on the path to here: it is granted no earlier
    int gpus = 0;     // added
};

// The gain above which all growths together add at most `free` GPUs, in O(n). Growths equal to it
// are left out. Reorders `edges`.
[[nodiscard]] double threshold(std::vector<Edge> &edges, long free);

}  // namespace ringrt::policy
