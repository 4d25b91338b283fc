// SPDX-License-Identifier: BSD-3-Clause
// Improves sequences of slots move by move against the model.
#pragma once

#include <vector>

#include "libringrt/bucketing/slots.h"

namespace ringrt::bucketing {

struct Candidate {
    double cost = 0;  // as SlotRater has it
    std::vector<Slot> slots;
};

// `found` is sorted by cost and not empty. Improves the best few of them and returns the best;
// stops where one comes within a thousandth of `bound_us`, which none can beat.
[[nodiscard]] Candidate improve_best(const Units &units, const Network &network,
                                     std::vector<Candidate> found, double bound_us);

}  // namespace ringrt::bucketing
