// SPDX-License-Identifier: BSD-3-Clause
// Which stores win where: plain ones, or streaming ones past the caches (reduce.h).
//
// Plain stores into lines that a far core holds fetch each line first; streaming ones do not, but
// put data that is near into memory. Which is faster depends on the size and on where the cores
// sit, and flips while a program runs (the system moves it). So for every power of two of bytes the
// first operations try each way, the fastest is kept for a second, and then all are tried again;
// the way in use is left only for one that is a twentieth faster, or noise would choose. A choice
// changes no result. Each rank chooses for itself; as all run the same operations, they try the
// same way at the same time.
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
    static constexpr int kGlance = 16;  // operations between two looks at the clock

    // With `what_follows` the time up to the next operation of that size counts as well, where it
    // is not long after any way: stores decide what it costs then to use the data.
    StoreChoice(int ways, bool what_follows, Clock::duration hold = std::chrono::seconds(1))
        : ways_(ways), what_follows_(what_follows), hold_(hold) {}

    // The way (0 .. ways-1) of the operation on `bytes` that begins now.
    [[nodiscard]] int begin(size_t bytes);
    // Now all ranks are there: what was waited does not count.
    void restart();
    void end();
    void end(double took_s);  // as if it had taken so long
    // Without trying: what is known to be the fastest so far, else the last way.
    [[nodiscard]] int best(size_t bytes) const;

  private:
    static constexpr double kNever = 1e9;
    struct Least {
        double operation_s = kNever, with_gap_s = kNever;
    };
    struct Class {
        int operations = 0, best = -1;  // since the trials began
        Clock::time_point until;        // then they begin again
        std::array<Least, 4> least{};   // of each way's trials
    };
    [[nodiscard]] static size_t class_of(size_t bytes);
    void conclude(const Class *next);
    void choose(Class *mine);

    int ways_, way_ = 0;
    bool what_follows_;
    Clock::duration hold_;
    Class *trying_ = nullptr;  // the class whose trial is under way, or has just ended
    double took_s_ = 0;        // that trial; 0: is not over, or does not count
    Clock::time_point start_, end_;
    std::array<Class, 65> classes_;
};

}  // namespace ringrt
