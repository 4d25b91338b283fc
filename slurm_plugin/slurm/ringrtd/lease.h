// SPDX-License-Identifier: GPL-2.0-or-later
// Selects which of several ringrtd acts: a lease, as a pure state machine. It uses neither files
// nor clocks: next() returns the operation on the store, done() takes its outcome.
//
// clang-format off
//                 no lease, released, its holder dead,
//                 or unchanged for lease + margin             create N + 1
//    ┌─────────┐ ───────────────────────────────────▶ ┌────────┐ ─────────▶ ┌────────────┐
//    │ standby │                                      │ taking │  created   │ confirming │
//    └─────────┘ ◀─────────────────────────────────── └────────┘            └────────────┘
//      ▲  look every look_s     it exists: another was faster; failed         │  │    ▲
//      │                                                                      │  │    │ renewed
//      ├──────────────────────────────────────────────────────────────────────┘  │    │ (replace N)
//      │   a newer lease exists, or the term ended meanwhile                     │    │ every
//      │                                                             it is N, own ▼    │ renew_s
//      └──────────────────────────────────────────────────────────────────── ┌────────┐
//          the term ended: an own lease is never renewed then                │ active │
//                                                                            └────────┘
// clang-format on
//
// The store holds numbered leases. Creating number N + 1 is atomic (one contender succeeds), and
// the highest number counts. Why two daemons never act at once:
// - A holder's term ends lease_s after it *began* its last confirmed write. A write counts only if
//   it was confirmed before the previous term had ended.
// - A contender takes over a lease that it has seen unchanged for lease_s + margin_s. It first saw
//   the lease after it was written, so the term has ended and cannot be renewed.
// - The holder begins no change to the cluster in the last guard_s of its term. So a call in
//   progress has guard_s + margin_s to end before another daemon begins one.
//
// Assumptions: each contender uses its own clock, which is never stepped and continues in suspend
// (CLOCK_BOOTTIME). Clocks are never compared, so wall clocks may differ or be stepped. Only the
// rates must agree, to margin_s / (lease_s + margin_s). A virtual machine that is paused with its
// clock violates this.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace ringrt::slurm {

struct LeaseTimes {
    double lease_s = 30, guard_s = 10, margin_s = 10, renew_s = 5, look_s = 2;

    auto operator<=>(const LeaseTimes &) const = default;
};

struct LeaseRecord {
    std::string holder;     // unique to a process
    uint64_t beat = 0;      // changes with each renewal
    double takeover_s = 0;  // if unchanged this long, it has expired (lease_s + margin_s)
    bool released = false;

    auto operator<=>(const LeaseRecord &) const = default;
};

// The result of a look at the store.
struct LeaseSeen {
    bool failed = false;                // the store did not answer
    uint64_t number = 0;                // of the newest lease; 0: there is none
    std::optional<LeaseRecord> record;  // nullopt: none, or unreadable
    bool holder_is_dead = false;        // for certain

    auto operator<=>(const LeaseSeen &) const = default;
};

enum class LeaseOp : uint8_t { rest, look, create, renew };
// A `failed` write may still have taken effect.
enum class LeaseWrite : uint8_t { done, exists, failed };

class Lease {
  public:
    enum class State : uint8_t { standby, taking, confirming, active };

    Lease(std::string holder, LeaseTimes times) : holder_(std::move(holder)), times_(times) {}

    // The operation to begin now. Times are from the caller's steady clock.
    [[nodiscard]] LeaseOp next(double now_s);
    void done(const LeaseSeen &seen, double now_s);
    void done(LeaseWrite outcome, double now_s);

    // Whether a change to the cluster may begin.
    [[nodiscard]] bool may_act(double now_s) const {
        return holds_ && now_s < until_s_ - times_.guard_s;
    }
    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] bool holds() const { return holds_; }
    [[nodiscard]] uint64_t number() const { return number_; }  // of the lease to write
    [[nodiscard]] LeaseRecord record() const;                  // to write
    // The current lease, as last seen; for messages.
    [[nodiscard]] const LeaseSeen &seen() const { return seen_; }

    auto operator<=>(const Lease &) const = default;

  private:
    void stand_by();
    void look_found(const LeaseSeen &seen, double now_s);
    void confirm(const LeaseSeen &seen, double now_s);
    [[nodiscard]] bool is_free(const LeaseSeen &seen) const;

    std::string holder_;
    LeaseTimes times_;
    State state_ = State::standby;
    LeaseSeen seen_;
    double unchanged_since_s_ = 0;  // when seen_ was first seen
    double began_s_ = 0;            // of the operation under way
    double wrote_s_ = 0;            // start of the write to confirm
    double look_due_s_ = 0, renew_due_s_ = 0;
    bool has_looked_ = false;
    uint64_t number_ = 0, beat_ = 0;
    bool holds_ = false;
    double until_s_ = 0;  // end of the term
};

}  // namespace ringrt::slurm
