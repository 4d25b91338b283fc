// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/engine/proposal.h"

#include <cmath>

#include "slurm_plugin/policy/engine/fitting.h"

namespace ringrt::policy {

ProposalWorth worth_of(const SizeTable &table, const std::vector<Level> &levels) {
    ProposalWorth out;
    for (int rank = 0; rank < table.size(); ++rank) {
        const Level level = levels[static_cast<std::size_t>(rank)];
        if (table.gpus(rank, level) == 0) continue;
        ++out.served;
        out.sum += table.value(rank, level);
    }
    return out;
}

bool is_better(const ProposalWorth &a, const ProposalWorth &b) {
    if (a.served != b.served) return a.served > b.served;
    return a.sum > b.sum + 1e-9 * std::abs(b.sum);
}

int overtaken(const SizeTable &table, const Proposal &proposal) {
    const int dropped = first_dropped(proposal.wanted, proposal.levels);
    if (dropped == kNone) return kNone;
    for (int rank = dropped; rank < table.size(); ++rank)
        if (table.row(rank).now == 0 && proposal.levels[static_cast<std::size_t>(rank)] != kWaits)
            return dropped;
    return kNone;
}

bool fits_as_it_is(const SizeTable &table, BlockBound room) {
    for (int rank = 0; rank < table.size(); ++rank)
        room.change(0, table.gpus(rank, table.row(rank).stay), table.row(rank).by_parts);
    return !room.is_over();
}

}  // namespace ringrt::policy
