// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/collective/store_choice.h"

#include <algorithm>
#include <bit>

namespace ringrt {

size_t StoreChoice::class_of(size_t bytes) { return size_t(std::bit_width(bytes)); }

int StoreChoice::best(size_t bytes) const {
    int best = classes_[class_of(bytes)].best;
    return best < 0 ? ways_ - 1 : best;
}

int StoreChoice::begin(size_t bytes) {
    Class &mine = classes_[class_of(bytes)];
    int trials = ways_ * kTrials;
    if (mine.operations == trials + kHold) mine.operations = 0;
    if (mine.operations == 0) mine.fastest_s.fill(1e9);
    if (mine.operations == trials) {
        auto fastest = std::min_element(mine.fastest_s.begin(), mine.fastest_s.begin() + ways_);
        mine.best = int(fastest - mine.fastest_s.begin());
    }
    trying_ = mine.operations < trials ? &mine : nullptr;
    way_ = trying_ != nullptr ? mine.operations / kTrials : mine.best;
    ++mine.operations;
    restart();
    return way_;
}

void StoreChoice::restart() {
    if (trying_ != nullptr) start_ = Clock::now();
}

void StoreChoice::end() {
    if (trying_ != nullptr) end(std::chrono::duration<double>(Clock::now() - start_).count());
}

void StoreChoice::end(double took_s) {
    if (trying_ == nullptr || (trying_->operations - 1) % kTrials == 0) return;
    double &fastest_s = trying_->fastest_s[size_t(way_)];
    fastest_s = std::min(fastest_s, took_s);
}

}  // namespace ringrt
