// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/exchange.h"

#include <algorithm>
#include <cmath>

#include "slurm_plugin/policy/growth.h"

namespace ringrt::policy {
namespace {

constexpr double kWorthwhile = 0.02;  // of the bound
constexpr int kMostJobs = 128;
constexpr int kRounds = 3;

struct Offer {
    double worth = 0;  // before a place is found for everybody
    std::vector<Level> levels;
};

bool may_be_better(const Proposal &proposal) {
    return proposal.bound - proposal.worth.sum > kWorthwhile * std::abs(proposal.bound);
}

Offer give_back(const Ladders &ladders, const Capacity &capacity, const Proposal &proposal,
                int giver, Level to) {
    Offer offer{.worth = 0, .levels = proposal.levels};
    offer.levels[static_cast<std::size_t>(giver)] = to;
    Room room(capacity);
    for (int rank = 0; rank < ladders.size(); ++rank)
        room.change(0, ladders.gpus(rank, offer.levels[static_cast<std::size_t>(rank)]));
    grow(ladders, offer.levels, room, giver);
    offer.worth = worth_of(ladders, offer.levels).sum;
    return offer;
}

// The best exchange that finds its places.
bool one_exchange(const Ladders &ladders, const Capacity &capacity, Proposal &proposal) {
    std::vector<Offer> offers;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const Level level = proposal.levels[static_cast<std::size_t>(rank)];
        for (Level to = 0; to < level; ++to) {
            Offer offer = give_back(ladders, capacity, proposal, rank, to);
            if (offer.worth > proposal.worth.sum + 1e-6 * std::abs(proposal.worth.sum))
                offers.push_back(std::move(offer));
        }
    }
    std::stable_sort(offers.begin(), offers.end(),
                     [](const Offer &a, const Offer &b) { return a.worth > b.worth; });
    Proposal best = proposal;
    for (Offer &offer : offers) {
        if (offer.worth <= best.worth.sum) break;
        fit_to_nodes(ladders, capacity, offer.levels);
        const ProposalWorth worth = worth_of(ladders, offer.levels);
        if (!is_better(worth, best.worth)) continue;
        best.levels = std::move(offer.levels);
        best.worth = worth;
    }
    if (!is_better(best.worth, proposal.worth)) return false;
    proposal = std::move(best);
    return true;
}

}  // namespace

void exchange(const Ladders &ladders, const Capacity &capacity, Proposal &proposal) {
    if (ladders.size() > kMostJobs) return;
    for (int round = 0; round < kRounds && may_be_better(proposal); ++round)
        if (!one_exchange(ladders, capacity, proposal)) return;
}

}  // namespace ringrt::policy
