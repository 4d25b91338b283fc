// SPDX-License-Identifier: BSD-3-Clause
// A plan as a sequence of slots: when to reduce-scatter, when to all-gather, and how much.
//
// A slot's content needs no search. If some content meets every layer's deadline, so does the
// content that always takes the most urgent bytes available. Proof by exchange: swap a more urgent
// byte forward for a less urgent one, in both phases; the less urgent byte gets a slot that ends
// before the later deadline. So a plan of N gradients has only a few numbers to choose.
#pragma once

#include <cstdint>
#include <vector>

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/plan.h"
#include "libringrt/bucketing/profile.h"

namespace ringrt::bucketing {

// Adjacent gradients in priority order that become ready at nearly the same time, treated as one.
struct Unit {
    uint32_t first = 0, last = 0;  // gradient ids, both included
    double bytes = 0;
    double ready_us = 0;  // when its last gradient becomes ready
    double tail_us = 0;   // forward time from its first gradient on
};

inline constexpr size_t kMaxUnits = 128;

struct Units {
    std::vector<Unit> units;         // in priority order
    std::vector<uint32_t> by_ready;  // positions in units, in ready order
    double bytes = 0;                // total
    double compute_us = 0;           // backward and forward pass
    double grain_us = 0;             // a unit's gradients become ready within this time
};

// At most kMaxUnits units, as fine as that allows. Omits gradients without bytes.
[[nodiscard]] Units coarsen(const Profile &profile);

inline constexpr double kAll = 1e300;

struct Slot {
    Phase phase = Phase::reduce_scatter;  // or all_gather
    uint32_t after = 0;                   // reduce_scatter: starts when this many units are ready
    double bytes = kAll;                  // at most this many available bytes, most urgent first

    bool operator==(const Slot &) const = default;
};

// The bytes that one slot took, and its other possible cuts, all in bytes.
struct SlotUse {
    double taken = 0;  // 0: none available, no transfer
    double first = 0;  // only the most urgent unit
    double below = 0;  // without the unit that was cut
    double above = 0;  // with all of the unit that was cut
};

// The state of one iteration between two slots.
class SlotRun;

// Rates sequences of slots with the exact model. One sequence is the base: a sequence with the same
// beginning is run only from the first difference, and only until it is known to be no better.
class SlotRater {
  public:
    SlotRater(const Units &units, const Network &network);
    ~SlotRater();
    SlotRater(const SlotRater &) = delete;
    SlotRater &operator=(const SlotRater &) = delete;

    // The cost in us: the iteration, plus a tiny share of the link's end to break ties. One last
    // block per phase sends what no slot took.
    [[nodiscard]] double rate(const std::vector<Slot> &slots) const;

    // The cost of `slots`, whose first `same` slots equal the base's, if it is less than `enough`;
    // otherwise kAll.
    [[nodiscard]] double rate(const std::vector<Slot> &slots, size_t same, double enough) const;

    // Makes `slots`, whose first `same` slots equal the base's, the new base.
    void set_base(const std::vector<Slot> &slots, size_t same);
    [[nodiscard]] const std::vector<SlotUse> &base_uses() const { return uses_; }

  private:
    const Units &units_;
    std::vector<SlotRun> before_;  // of the base: the state before each slot, and at the end
    std::vector<SlotUse> uses_;    // of the base
};

// Slots that always send the most urgent bytes, at most `window_bytes` (0: one unit) at a time,
// through both phases in turn, like a priority queue.
[[nodiscard]] std::vector<Slot> urgent_first(const Units &units, const Network &network,
                                             double window_bytes);

// The slots as a plan of byte ranges.
[[nodiscard]] Plan plan_of(const Profile &profile, const Units &units, const Network &network,
                           const std::vector<Slot> &slots);

}  // namespace ringrt::bucketing
