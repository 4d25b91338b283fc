// SPDX-License-Identifier: BSD-3-Clause
// A plan as a sequence of slots: when to reduce-scatter, when to all-gather, and how much.
//
// What goes into a slot needs no search: by an exchange argument, if some choice of content meets
// every layer's deadline then so does the one that always takes the most urgent bytes available
// (swap a more urgent byte forward against a less urgent one, in both phases: the less urgent
// inherits a slot that ends before the later deadline). So a plan of N gradients has only a few
// numbers worth choosing.
#pragma once

#include <cstdint>
#include <vector>

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/plan.h"
#include "libringrt/bucketing/profile.h"

namespace ringrt::bucketing {

// Gradients next to each other in priority that become ready nearly together, as one.
struct Unit {
    uint32_t first = 0, last = 0;  // gradient ids, both included
    double bytes = 0;
    double ready_us = 0;  // of the last one of them to become ready
    double tail_us = 0;   // forward time from its first gradient on
};

inline constexpr size_t kMaxUnits = 128;

struct Units {
    std::vector<Unit> units;         // by priority
    std::vector<uint32_t> by_ready;  // positions in units, in the order of readiness
    double bytes = 0;                // of all
    double compute_us = 0;           // backward and forward pass
    double grain_us = 0;             // gradients of one unit are ready within so much
};

// At most kMaxUnits, as fine as that allows. Gradients without bytes are left out.
[[nodiscard]] Units coarsen(const Profile &profile);

inline constexpr double kAll = 1e300;

struct Slot {
    Phase phase = Phase::reduce_scatter;  // or all_gather
    uint32_t after = 0;   // reduce_scatter: starts once so many units have become ready
    double bytes = kAll;  // at most so many of the available ones, the most urgent first

    bool operator==(const Slot &) const = default;
};

// What one slot took, and where else it could have been cut: all in bytes.
struct SlotUse {
    double taken = 0;  // 0: nothing was available, no transfer
    double first = 0;  // the most urgent unit alone
    double below = 0;  // without the unit that was cut
    double above = 0;  // with all of the unit that was cut
};

// The state of one iteration between two slots.
class SlotRun;

// Rates sequences of slots by the exact model. One of them is the base: sequences that begin like
// it are run only from where they differ, and only until they are known to be no better.
class SlotRater {
  public:
    SlotRater(const Units &units, const Network &network);
    ~SlotRater();
    SlotRater(const SlotRater &) = delete;
    SlotRater &operator=(const SlotRater &) = delete;

    // The cost in us: the iteration, and a trace of the link's end to tell equals apart. What no
    // slot took is sent in one last block per phase.
    [[nodiscard]] double rate(const std::vector<Slot> &slots) const;

    // The cost of `slots`, which begin with the base's first `same` ones, where it is less than
    // `enough`; kAll where it is not.
    [[nodiscard]] double rate(const std::vector<Slot> &slots, size_t same, double enough) const;

    // `slots`, which begin with the base's first `same` ones, become the base.
    void set_base(const std::vector<Slot> &slots, size_t same);
    [[nodiscard]] const std::vector<SlotUse> &base_uses() const { return uses_; }

  private:
    const Units &units_;
    std::vector<SlotRun> before_;  // of the base: the states before each slot, and at the end
    std::vector<SlotUse> uses_;    // of the base
};

// Slots in which the most urgent bytes always go, at most `window_bytes` (0: one unit) at a time
// and through both phases one after the other: what a priority queue would do.
[[nodiscard]] std::vector<Slot> urgent_first(const Units &units, const Network &network,
                                             double window_bytes);

// The same as a plan of byte ranges.
[[nodiscard]] Plan plan_of(const Profile &profile, const Units &units, const Network &network,
                           const std::vector<Slot> &slots);

}  // namespace ringrt::bucketing
