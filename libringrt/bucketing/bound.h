// SPDX-License-Identifier: BSD-3-Clause
// What no rule can beat.
//
// Take any set S of gradients: none of its bytes is sent before the earliest of S is ready, each
// byte holds the link for two phases, and when the last of S is complete the layers from that
// gradient on have still to run:
//
//     iteration >= min ready(S) + 2((w−1)/w)·bytes(S)/B + min forward_left(S)
//
// and, as at least one reduce-scatter and after it one all-gather of S follow that earliest moment,
// each of w−1 messages one after the other, 2(w−1)α more. (With parameter servers a byte holds each
// direction once: a factor of 1 instead of 2, and 2α.) The largest of these over all S is the
// length of the schedule that always sends the most urgent ready byte, pre-empting at no cost
// (Jackson's rule for 1|r,pmtn|Lmax, optimal and equal to that bound: Carlier, EJOR 11 (1982), with
// the forward time left as the tail).
#pragma once

#include "libringrt/bucketing/network.h"
#include "libringrt/bucketing/profile.h"

namespace ringrt::bucketing {

struct Bound {
    double fluid_us = 0;       // α = 0: `bound`
    double with_alpha_us = 0;  // and the 2(w−1)α that no plan of blocks can avoid
};

[[nodiscard]] Bound bound_of(const Profile &profile, const Network &network);

}  // namespace ringrt::bucketing
