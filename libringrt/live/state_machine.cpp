// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/state_machine.h"

#include <algorithm>

namespace ringrt::live {

bool are_whole_nodes(const std::vector<Vote> &votes, int ranks, uint32_t keep) {
    std::vector<uint32_t> seen;
    for (size_t rank = 0; rank < size_t(ranks) && rank < votes.size(); ++rank) {
        const uint32_t node = votes[rank].node;
        const bool same = !seen.empty() && seen.back() == node;
        if (rank == keep && same) return false;
        if (same) continue;
        if (std::find(seen.begin(), seen.end(), node) != seen.end()) return false;
        seen.push_back(node);
    }
    return true;
}

Machine Machine::outside() {
    Machine machine;
    machine.phase_ = Phase::outside;
    machine.own_level_ = 1;  // only to differ from the base's; set when it joins
    return machine;
}

// The lowest level with a rank that is signalled to leave; 0: none. A base that is to be requeued
// does not leave here, but its extensions do.
int Machine::leaving_level(const std::vector<Vote> &votes) const {
    for (size_t level = 1; level < sizes_.size(); ++level)
        for (size_t rank = 0; rank < size_t(sizes_[level]) && rank < votes.size(); ++rank)
            if (votes[rank].leave) return static_cast<int>(level);
    return 0;
}

Act Machine::voted(const std::vector<Vote> &votes) {
    if (const int leaving = leaving_level(votes); leaving > 0) return narrow(leaving);
    if (phase_ == Phase::shrinking) return while_shrinking(votes);
    auto any = [&](auto what) { return std::any_of(votes.begin(), votes.end(), what); };
    if (phase_ != Phase::forming) {
        if (may_shrink(votes)) {
            offer_ = votes[0].offer, keep_ = votes[0].keep;
            phase_ = Phase::shrinking;
            return Act::shrink;
        }
        if (votes.empty() || votes[0].offer == 0 || votes[0].offer_ranks == 0) return Act::train;
        offer_ = votes[0].offer;
        offer_ranks_ = votes[0].offer_ranks;
        phase_ = Phase::forming;
        return Act::form;
    }
    if (any([](const Vote &vote) { return vote.formed == Formed::failed; }))
        return stay(Act::call_off);
    if (any([](const Vote &vote) { return vote.formed != Formed::done || vote.hold; }))
        return Act::train;
    phase_ = Phase::transferring;
    return Act::transfer;
}

Act Machine::narrow(int leaving) {
    if (own_level_ >= leaving) {
        phase_ = own_level_ == leaving ? Phase::ended : Phase::outside;
        sizes_.clear();
        return phase_ == Phase::ended ? Act::leave : Act::rejoin;
    }
    sizes_.resize(size_t(leaving));
    phase_ = Phase::settling;
    return Act::settle;
}

// Only the base alone: extensions leave before its nodes do.
bool Machine::may_shrink(const std::vector<Vote> &votes) const {
    return level() == 0 && own_level_ == 0 && !votes.empty() && votes[0].keep > 0 &&
           votes[0].keep < uint32_t(ranks()) && are_whole_nodes(votes, ranks(), votes[0].keep) &&
           std::none_of(votes.begin(), votes.end(), [](const Vote &vote) { return vote.leave; });
}

Act Machine::while_shrinking(const std::vector<Vote> &votes) {
    bool is_ready = true;
    for (size_t rank = 0; rank < votes.size(); ++rank) {
        const Vote &vote = votes[rank];
        if (vote.formed == Formed::failed || vote.leave || votes[0].keep != keep_)
            return stay(Act::call_off);
        is_ready = is_ready && !vote.hold && (rank >= keep_ || vote.formed == Formed::done);
    }
    return is_ready ? part() : Act::train;
}

// The ranks that stay continue on the level that they have formed.
Act Machine::part() {
    const bool stayed = stays();
    const int ranks = keep();
    keep_ = offer_ = 0;
    if (!stayed) {
        phase_ = Phase::released;
        sizes_.clear();
        return Act::release;
    }
    sizes_[0] = ranks;
    phase_ = Phase::settling;
    return Act::replace;
}

Act Machine::transferred() {
    phase_ = Phase::confirming;
    return Act::confirm;
}

Act Machine::confirmed(bool everywhere) {
    if (!everywhere) return stay(Act::call_off);
    sizes_.push_back(ranks_then());
    return stay(Act::adopt);
}

Act Machine::settled() { return stay(Act::train); }

void Machine::told_of_loss() {
    if (level() > 0 || is_shrinking()) phase_ = Phase::told;
}

Act Machine::lost() {
    if (is_shrinking()) return part();
    if (level() <= 0 && own_level_ == 0) return Act::fail;
    if (own_level_ > 0) {
        phase_ = Phase::apart;
        sizes_.clear();
        return Act::rejoin;
    }
    sizes_.resize(1);
    phase_ = Phase::settling;
    return Act::settle;
}

Act Machine::finished() {
    if (level() > 0 && own_level_ == 0) return narrow(1);
    if (is_shrinking()) return part();
    phase_ = Phase::ended;
    sizes_.clear();
    return Act::leave;
}

void Machine::called_off() { phase_ = Phase::apart; }

void Machine::joined(std::vector<int> sizes) {
    sizes_ = std::move(sizes);
    own_level_ = level();
    (void)stay(Act::train);
}

// Returns to steady; the formed level is adopted or dropped.
Act Machine::stay(Act how) {
    phase_ = Phase::steady;
    offer_ = offer_ranks_ = keep_ = 0;
    return how;
}

}  // namespace ringrt::live
