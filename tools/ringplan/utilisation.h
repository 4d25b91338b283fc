// SPDX-License-Identifier: BSD-3-Clause
// Utilisation of the processor and the link over an iteration.
#pragma once

#include <vector>

#include "tools/ringplan/comparison.h"

namespace ringrt::ringplan {

struct Utilisation {
    std::vector<double> compute, link;  // shares, 0 to 1, of equal parts of the iteration
};

// The link of a ring: if pushes and pulls overlap, a block's span is not its time on the link.
[[nodiscard]] Utilisation utilisation_of(const bucketing::Profile &profile,
                                         const bucketing::Timeline &timeline, size_t parts);

}  // namespace ringrt::ringplan
