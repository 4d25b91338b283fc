// SPDX-License-Identifier: GPL-2.0-or-later
#include "slurm_plugin/slurm/ringrtd/lease.h"

#include <algorithm>

namespace ringrt::slurm {

LeaseRecord Lease::record() const {
    return {.holder = holder_, .beat = beat_, .takeover_s = times_.lease_s + times_.margin_s};
}

void Lease::stand_by() {
    state_ = State::standby;
    holds_ = false;
    look_due_s_ = 0;
}

LeaseOp Lease::next(double now_s) {
    if (holds_ && now_s >= until_s_) stand_by();
    began_s_ = now_s;
    switch (state_) {
        case State::standby:
            return now_s >= look_due_s_ ? LeaseOp::look : LeaseOp::rest;
        case State::taking:
            wrote_s_ = now_s;
            return LeaseOp::create;
        case State::confirming:
            return LeaseOp::look;
        case State::active:
            break;
    }
    if (now_s < renew_due_s_) return LeaseOp::rest;
    ++beat_;
    wrote_s_ = now_s;
    return LeaseOp::renew;
}

void Lease::done(const LeaseSeen &seen, double now_s) {
    if (state_ == State::confirming)
        confirm(seen, now_s);
    else if (state_ == State::standby)
        look_found(seen, now_s);
}

// An own lease that is no longer held cannot be renewed, so it is free. Any other lease must have
// been unchanged until this look *began*.
bool Lease::is_free(const LeaseSeen &seen) const {
    if (seen.number == 0 || seen.holder_is_dead) return true;
    if (seen.record && (seen.record->released || seen.record->holder == holder_)) return true;
    double takeover_s = times_.lease_s + times_.margin_s;
    if (seen.record) takeover_s = std::max(takeover_s, seen.record->takeover_s);
    return began_s_ >= unchanged_since_s_ + takeover_s;
}

void Lease::look_found(const LeaseSeen &seen, double now_s) {
    look_due_s_ = now_s + times_.look_s;
    if (seen.failed) return;  // what was seen before still counts
    if (!has_looked_ || seen.number != seen_.number || seen.record != seen_.record)
        unchanged_since_s_ = now_s;
    has_looked_ = true;
    seen_ = seen;
    if (!is_free(seen)) return;
    number_ = seen.number + 1;
    beat_ = 0;
    state_ = State::taking;
}

void Lease::done(LeaseWrite outcome, double now_s) {
    if (state_ == State::taking) {
        if (outcome == LeaseWrite::done)
            state_ = State::confirming;
        else
            stand_by();
        if (outcome == LeaseWrite::failed) look_due_s_ = now_s + times_.look_s;
    } else if (state_ == State::active) {
        if (outcome == LeaseWrite::done) state_ = State::confirming;
        renew_due_s_ = now_s + (outcome == LeaseWrite::done ? times_.renew_s : 1);
    }
}

// A renewal must be confirmed before the term that it extends has ended, the first write within its
// own term.
void Lease::confirm(const LeaseSeen &seen, double now_s) {
    const bool in_time = now_s < (holds_ ? until_s_ : wrote_s_ + times_.lease_s);
    if (in_time && seen.failed) return;  // repeat the look
    if (!in_time || seen.number != number_ || seen.record != record()) return stand_by();
    holds_ = true;
    until_s_ = wrote_s_ + times_.lease_s;
    renew_due_s_ = wrote_s_ + times_.renew_s;
    seen_ = seen;
    state_ = State::active;
}

}  // namespace ringrt::slurm
