// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/improve.h"

#include <algorithm>
#include <cmath>

#include "slurm_plugin/policy/engine/fitting.h"
#include "slurm_plugin/policy/engine/knapsack.h"

namespace ringrt::policy {
namespace {

constexpr double kWorthwhile = 0.02;  // of the bound
constexpr long kMostCells = 1 << 17;  // jobs x GPUs in the dynamic program

bool may_be_better(const Proposal &proposal) {
    return proposal.bound - proposal.worth.sum > kWorthwhile * std::abs(proposal.bound);
}

// Only for the jobs that are served: the optimum ignores priorities, so it must not decide which
// jobs stay pending.
std::vector<Level> optimum_of(const SizeTable &table, const Capacity &capacity,
                              const Options &options, const Proposal &proposal) {
    std::vector<Job> jobs;
    std::vector<std::size_t> ranks;
    for (int rank = 0; rank < table.size(); ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        if (table.gpus(rank, proposal.levels[i]) == 0) continue;
        jobs.push_back(table.job(rank));
        ranks.push_back(i);
    }
    const std::vector<Allotment> optimum = decide_optimum(jobs, capacity, options);
    std::vector<Level> levels(proposal.levels.size(), kWaits);
    // The optimum ignores overcommitted nodes: a job on one must not keep its size.
    for (std::size_t k = 0; k < ranks.size(); ++k) {
        const int rank = static_cast<int>(ranks[k]);
        levels[ranks[k]] = std::min(table.level_of(rank, optimum[k].gpus), table.row(rank).top);
    }
    return levels;
}

}  // namespace

void improve_with_knapsack(const SizeTable &table, const Capacity &capacity,
                           const EmptyNodes &nodes, const Options &options, Proposal &proposal) {
    if (table.size() * static_cast<long>(total_gpus(capacity)) > kMostCells) return;
    if (!may_be_better(proposal)) return;
    std::vector<Level> levels = optimum_of(table, capacity, options, proposal);
    fit_to_nodes(table, nodes, levels);
    const ProposalWorth worth = worth_of(table, levels);
    if (!is_better(worth, proposal.worth)) return;
    proposal.levels = std::move(levels);
    proposal.worth = worth;
}

}  // namespace ringrt::policy
