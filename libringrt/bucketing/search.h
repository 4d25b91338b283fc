// SPDX-License-Identifier: BSD-3-Clause
// Improves sequences of slots move by move, rated by the model.
#pragma once

#include <vector>

#include "libringrt/bucketing/slots.h"

namespace ringrt::bucketing {

struct Candidate {
    double cost = 0;  // as rated by SlotRater
    std::vector<Slot> slots;
};

inline constexpr size_t kStarts = 2;  // candidates worth improving: each takes a few ms

// `found` is sorted by cost and not empty. Improves each and returns the best. Stops if one comes
// within a thousandth of `bound_us`, the lower bound.
[[nodiscard]] Candidate improve_best(const Units &units, const Network &network,
                                     std::vector<Candidate> found, double bound_us);

}  // namespace ringrt::bucketing
