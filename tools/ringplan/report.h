// SPDX-License-Identifier: BSD-3-Clause
// A comparison as a table and as JSON, and a plan as a table of blocks.
#pragma once

#include <string>
#include <vector>

#include "tools/ringplan/comparison.h"

namespace ringrt::ringplan {

[[nodiscard]] std::string table(const Comparison &comparison);

// One object for one comparison, an array for several:
// {"profile","gbps","alpha_us","ranks","rules":[{"rule","iteration_ms","wait_ms",…}],"bound_ms",…}
[[nodiscard]] std::string json(const std::vector<Comparison> &comparisons);

// Each block of the plan: phase, start, end, bytes, gradients.
[[nodiscard]] std::string blocks_table(const Comparison &comparison, const Outcome &outcome);

}  // namespace ringrt::ringplan
