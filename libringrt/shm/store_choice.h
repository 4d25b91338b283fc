// SPDX-License-Identifier: BSD-3-Clause
// Selects plain stores or streaming stores past the caches (reduce.h).
//
// A plain store to a line that a far core holds fetches the line first. A streaming store does not,
// but moves nearby data out to memory. Which is faster depends on the size and on the cores'
// distance, and changes at run time when the system migrates ranks. So for every power of two of
// bytes the first operations try each way; the fastest is kept for a second, and then all are tried
// again. Another way replaces the current one only if it is 5 % faster; otherwise noise would
// decide. The choice does not change results. Each rank chooses for itself; as all run the same
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
    static constexpr int kTrials = 4;   // of each way; the first trial does not count
    static constexpr int kGlance = 16;  // operations between two clock reads

    // With `what_follows` the time up to the next operation of that size counts as well, unless it
    // is long after some way: the kind of store determines how fast the data can be used
    // afterwards.
    StoreChoice(int ways, bool what_follows, Clock::duration hold = std::chrono::seconds(1))
        : ways_(ways), what_follows_(what_follows), hold_(hold) {}

    // Returns the way (0 .. ways-1) for an operation on `bytes` that starts now.
    [[nodiscard]] int begin(size_t bytes);
    // All ranks have arrived: the wait so far does not count.
    void restart();
    void end();
    void end(double took_s);  // ends it with the given duration
    // Without a trial: the fastest way found so far, or else the last way.
    [[nodiscard]] int best(size_t bytes) const;

  private:
    static constexpr double kNever = 1e9;
    struct Least {
        double operation_s = kNever, with_gap_s = kNever;
    };
    struct Class {
        int operations = 0, best = -1;  // since the trials began
        Clock::time_point until;        // end of the hold time; then the trials begin again
        std::array<Least, 4> least{};   // of each way's trials
    };
    [[nodiscard]] static size_t class_of(size_t bytes);
    void conclude(const Class *next);
    void choose(Class *mine);

    int ways_, way_ = 0;
    bool what_follows_;
    Clock::duration hold_;
    Class *trying_ = nullptr;  // class of the current or last trial
    double took_s_ = 0;        // duration of that trial; 0: not ended, or not counted
    Clock::time_point start_, end_;
    std::array<Class, 65> classes_;
};

}  // namespace ringrt
