// SPDX-License-Identifier: BSD-3-Clause
// A lower bound on the iteration time of every rule.
//
// Take any set S of gradients. No byte of S is sent before the earliest of S is ready, and each
// byte occupies the link for two phases. When the last of S is complete, the layers from that
// gradient on must still run:
//
//     iteration >= min ready(S) + 2((w−1)/w)·bytes(S)/B + min forward_left(S)
//
// At least one reduce-scatter of S and then one all-gather follow that earliest moment, each of w−1
// messages in sequence, which adds 2(w−1)α. (With parameter servers, a byte occupies each direction
// once: a factor of 1 instead of 2, and 2α.) The largest of these bounds over all S is the length
// of the schedule that always sends the most urgent ready byte and preempts at no cost (Jackson's
// rule for 1|r,pmtn|Lmax, optimal and equal to that bound: Carlier, EJOR 11 (1982), with the
// remaining forward time as the tail).
#pragma once

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/profile.h"

namespace ringrt::bucketing {

struct Bound {
    double fluid_us = 0;       // α = 0: `bound`
    double with_alpha_us = 0;  // plus the 2(w−1)α that no plan of blocks can avoid
};

[[nodiscard]] Bound bound_of(const Profile &profile, const Network &network);

}  // namespace ringrt::bucketing
