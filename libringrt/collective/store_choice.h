// SPDX-License-Identifier: BSD-3-Clause
// Which stores win where: plain ones, or streaming ones past the caches (fold.h).
//
// Plain stores into lines that a far core holds fetch each line first; streaming ones do not, but
// put data that is near into memory. Which is faster depends on the size and on where the cores
// sit, and flips while a program runs (the system moves it). So for every power of two of bytes the
// first operations try each way, the fastest is kept for some hundred operations, and then all are
// tried again. A choice changes no result. Each rank chooses for itself; as all run the same
// operations, they try the same way at the same time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ringrt {

class StoreChoice {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr int kTrials = 4;   // of each way; the first of them does not count
    static constexpr int kHold = 1000;  // operations between two rounds of trials

    explicit StoreChoice(int ways) : ways_(ways) {}

    // The way (0 .. ways-1) of the operation on `bytes` that begins now.
    [[nodiscard]] int begin(size_t bytes);
    // Now all ranks are there: what was waited does not count.
    void restart();
    void end();
    void end(double took_s);  // as if it had taken so long
    // Without trying: what is known to be the fastest so far, else the last way.
    [[nodiscard]] int best(size_t bytes) const;

  private:
    struct Class {
        int operations = 0, best = -1;
        std::array<double, 4> fastest_s{};
    };
    [[nodiscard]] static size_t class_of(size_t bytes);

    int ways_, way_ = 0;
    Class *trying_ = nullptr;  // the class whose trial is under way
    Clock::time_point start_;
    std::array<Class, 65> classes_;
};

}  // namespace ringrt
