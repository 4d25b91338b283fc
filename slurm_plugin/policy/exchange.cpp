// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/exchange.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurm_plugin/policy/growth.h"

namespace ringrt::policy {
namespace {

constexpr double kWorthwhile = 0.02;  // of the bound
constexpr int kMostJobs = 128;
constexpr int kRounds = 3;
constexpr Level kAnyLevel = std::numeric_limits<Level>::max();

struct Offer {
    double worth = 0;  // before a place is found for everybody
    std::vector<Level> levels;
};

bool may_be_better(const Proposal &proposal) {
    return proposal.bound - proposal.worth.sum > kWorthwhile * std::abs(proposal.bound);
}

// No exchange in which `giver` gives back can gain more than that: every GPU at the largest gain that
// anybody's next step has.
struct Market {
    Room room;  // with everybody where the proposal puts them
    double best_gain = 0;
};

Market market_of(const Ladders &ladders, const Capacity &capacity, const Proposal &proposal) {
    Market market{.room = Room(capacity)};
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const Level level = proposal.levels[static_cast<std::size_t>(rank)];
        market.room.change(0, ladders.gpus(rank, level));
        market.best_gain =
            std::max(market.best_gain, ladders.best_step(rank, level, kAnyLevel).gain);
    }
    return market;
}

bool may_gain(const Ladders &ladders, const Market &market, int giver, Level from, Level to) {
    const int free =
        market.room.free_gpus() + ladders.gpus(giver, from) - ladders.gpus(giver, to);
    return market.best_gain * free > ladders.value(giver, from) - ladders.value(giver, to);
}

Offer give_back(const Ladders &ladders, const Market &market, const Proposal &proposal, int giver,
                Level to) {
    Offer offer{.worth = 0, .levels = proposal.levels};
    Level &level = offer.levels[static_cast<std::size_t>(giver)];
    Room room = market.room;
    room.change(ladders.gpus(giver, level), ladders.gpus(giver, to));
    level = to;
    grow(ladders, offer.levels, room, giver);
    offer.worth = worth_of(ladders, offer.levels).sum;
    return offer;
}

// The best exchange that finds its places.
bool one_exchange(const Ladders &ladders, const Capacity &capacity, Proposal &proposal) {
    const Market market = market_of(ladders, capacity, proposal);
    std::vector<Offer> offers;
    for (int rank = 0; rank < ladders.size(); ++rank) {
        const Level level = proposal.levels[static_cast<std::size_t>(rank)];
        for (Level to = 0; to < level; ++to) {
            if (!may_gain(ladders, market, rank, level, to)) continue;
            Offer offer = give_back(ladders, market, proposal, rank, to);
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
