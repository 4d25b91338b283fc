// SPDX-License-Identifier: GPL-2.0-or-later
// Which one of several ringrtd acts: a lease, as a pure state machine. It knows no file and no
// clock: next() says what to do to the store, done() takes what came of it.
//
//                 no lease, given back, its holder dead,
//                 or unchanged for lease + margin             create N + 1
//    ┌─────────┐ ───────────────────────────────────▶ ┌────────┐ ─────────▶ ┌────────────┐
//    │ standby │                                      │ taking │  created   │ confirming │
//    └─────────┘ ◀─────────────────────────────────── └────────┘            └────────────┘
//      ▲  look every look_s     it exists: another was quicker; failed        │  │    ▲
//      │                                                                      │  │    │ renewed
//      ├──────────────────────────────────────────────────────────────────────┘  │    │ (replace N)
//      │   a newer one is there, or the time in hand ran out meanwhile           │    │
//      │                                                                it is N, │    │ every
//      renew_s │   the time in hand ran out: an own lease is never renewed then   mine   ▼    │
//      └──────────────────────────────────────────────────────────────────── ┌────────┐
//                                                                            │ active │
//                                                                            └────────┘
//
// The store holds numbered leases. Creating number N + 1 is atomic (one contender succeeds), and
// the highest number counts. Why never two act:
// - A holder's time in hand ends lease_s after it *began* its last confirmed write, and a write
//   counts only if it was confirmed before the time in hand from the one before had ended.
// - A contender takes over a lease that it has seen unchanged for lease_s + margin_s since it first
//   saw it, hence after it was written: the time in hand is over then, and cannot be renewed.
// - The holder begins no change to the cluster in the last guard_s of its time in hand. So a call
//   that was begun has guard_s + margin_s to end before anybody else begins one.
//
// What is assumed: each contender measures with a clock of its own that nobody steps and that goes
// on in suspend (CLOCK_BOOTTIME). No two clocks are ever compared, so wall clocks may differ or be
// stepped at will; only their rates must agree, to margin_s / (lease_s + margin_s). A whole virtual
// machine that is paused without its clock going on breaks that.
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
    uint64_t beat = 0;      // another one with each renewal
    double takeover_s = 0;  // unchanged for so long: it has expired (lease_s + margin_s)
    bool released = false;

    auto operator<=>(const LeaseRecord &) const = default;
};

// What a look at the store found.
struct LeaseSeen {
    bool failed = false;                // the store did not answer
    uint64_t number = 0;                // of the newest lease; 0: there is none
    std::optional<LeaseRecord> record;  // nullopt: none, or unreadable
    bool holder_is_dead = false;        // for certain

    auto operator<=>(const LeaseSeen &) const = default;
};

enum class LeaseOp : uint8_t { rest, look, create, renew };
enum class LeaseWrite : uint8_t {
    done,
    exists,
    failed
};  // `failed` may have been done all the same

class Lease {
  public:
    enum class State : uint8_t { standby, taking, confirming, active };

    Lease(std::string holder, LeaseTimes times) : holder_(std::move(holder)), times_(times) {}

    // What to do now; it is begun now. Times are of the caller's own steady clock.
    [[nodiscard]] LeaseOp next(double now_s);
    void done(const LeaseSeen &seen, double now_s);
    void done(LeaseWrite outcome, double now_s);

    // May a change to the cluster be begun?
    [[nodiscard]] bool may_act(double now_s) const {
        return holds_ && now_s < until_s_ - times_.guard_s;
    }
    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] bool holds() const { return holds_; }
    [[nodiscard]] uint64_t number() const { return number_; }  // of the lease to write
    [[nodiscard]] LeaseRecord record() const;                  // to write
    // The lease that stands, as last seen; for words about it.
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
    double began_s_ = 0;            // the operation under way
    double wrote_s_ = 0;            // when the write that is to be confirmed was begun
    double look_due_s_ = 0, renew_due_s_ = 0;
    bool has_looked_ = false;
    uint64_t number_ = 0, beat_ = 0;
    bool holds_ = false;
    double until_s_ = 0;  // the time in hand
};

}  // namespace ringrt::slurm
