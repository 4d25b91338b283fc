// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/state_machine.h"

#include <algorithm>

namespace ringrt::live {

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
    auto any = [&](auto what) { return std::any_of(votes.begin(), votes.end(), what); };
    if (phase_ != Phase::forming) {
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

Act Machine::lost() {
    if (level() <= 0 && own_level_ == 0) return Act::fail;
    if (own_level_ > 0) {
        phase_ = Phase::outside;
        sizes_.clear();
        return Act::rejoin;
    }
    sizes_.resize(1);
    phase_ = Phase::settling;
    return Act::settle;
}

Act Machine::finished() {
    if (level() > 0 && own_level_ == 0) return narrow(1);
    phase_ = Phase::ended;
    sizes_.clear();
    return Act::leave;
}

void Machine::joined(std::vector<int> sizes) {
    sizes_ = std::move(sizes);
    own_level_ = level();
    (void)stay(Act::train);
}

// Returns to steady; the formed level is adopted or dropped.
Act Machine::stay(Act how) {
    phase_ = Phase::steady;
    offer_ = offer_ranks_ = 0;
    return how;
}

}  // namespace ringrt::live
