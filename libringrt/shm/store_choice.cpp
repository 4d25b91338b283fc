// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/shm/store_choice.h"

#include <algorithm>
#include <bit>
#include <span>

namespace ringrt {

size_t StoreChoice::class_of(size_t bytes) { return size_t(std::bit_width(bytes)); }

int StoreChoice::best(size_t bytes) const {
    int best = classes_[class_of(bytes)].best;
    return best < 0 ? ways_ - 1 : best;
}

// Records the last trial when the next operation begins.
void StoreChoice::conclude(const Class *next) {
    if (trying_ == nullptr || took_s_ == 0) return;
    Least &least = trying_->least[size_t(way_)];
    least.operation_s = std::min(least.operation_s, took_s_);
    if (what_follows_ && trying_ == next) {
        const double gap_s = std::chrono::duration<double>(Clock::now() - end_).count();
        least.with_gap_s = std::min(least.with_gap_s, took_s_ + gap_s);
    }
    trying_ = nullptr;
}

void StoreChoice::choose(Class *mine) {
    constexpr double kLong = 8;  // in operation times; a longer gap has other causes
    constexpr double kWorth = 0.95;
    const std::span ways = std::span(mine->least).first(size_t(ways_));
    const bool gaps = std::ranges::all_of(
        ways, [](const Least &way) { return way.with_gap_s < (1 + kLong) * way.operation_s; });
    auto took_s = [&](int way) {
        const Least &least = ways[size_t(way)];
        return gaps ? least.with_gap_s : least.operation_s;
    };
    int fastest = 0;
    for (int way = 1; way < ways_; ++way)
        if (took_s(way) < took_s(fastest)) fastest = way;
    const int in_use = std::max(0, mine->best);
    mine->best = took_s(fastest) < kWorth * took_s(in_use) ? fastest : in_use;
    mine->until = Clock::now() + hold_;
}

int StoreChoice::begin(size_t bytes) {
    Class &mine = classes_[class_of(bytes)];
    int trials = ways_ * kTrials;
    conclude(&mine);
    if (mine.operations == trials) choose(&mine);
    if (mine.operations == trials + kGlance)
        mine.operations = Clock::now() < mine.until ? trials + 1 : 0;
    if (mine.operations == 0) mine.least.fill({});
    trying_ = mine.operations < trials ? &mine : nullptr;
    way_ = trying_ != nullptr ? mine.operations / kTrials : mine.best;
    ++mine.operations;
    took_s_ = 0;
    restart();
    return way_;
}

void StoreChoice::restart() {
    if (trying_ != nullptr) start_ = Clock::now();
}

void StoreChoice::end() {
    if (trying_ == nullptr) return;
    end_ = Clock::now();
    end(std::chrono::duration<double>(end_ - start_).count());
}

void StoreChoice::end(double took_s) {
    if (trying_ != nullptr && (trying_->operations - 1) % kTrials != 0) took_s_ = took_s;
}

}  // namespace ringrt
