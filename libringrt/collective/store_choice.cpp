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

// What the last trial was worth, now that the operation after it begins.
void StoreChoice::conclude(const Class *next) {
    constexpr double kLong = 8;  // times the operation: what follows has little to do with it
    if (trying_ == nullptr || took_s_ == 0) return;
    if (what_follows_ && trying_ == next) {
        double gap_s = std::chrono::duration<double>(Clock::now() - end_).count();
        if (gap_s < kLong * took_s_) took_s_ += gap_s;
    }
    double &fastest_s = trying_->fastest_s[size_t(way_)];
    fastest_s = std::min(fastest_s, took_s_);
    trying_ = nullptr;
}

void StoreChoice::choose(Class *mine) {
    auto fastest = std::min_element(mine->fastest_s.begin(), mine->fastest_s.begin() + ways_);
    mine->best = int(fastest - mine->fastest_s.begin());
    mine->until = Clock::now() + hold_;
}

int StoreChoice::begin(size_t bytes) {
    Class &mine = classes_[class_of(bytes)];
    int trials = ways_ * kTrials;
    conclude(&mine);
    if (mine.operations == trials) choose(&mine);
    if (mine.operations == trials + kGlance)
        mine.operations = Clock::now() < mine.until ? trials + 1 : 0;
    if (mine.operations == 0) mine.fastest_s.fill(1e9);
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
