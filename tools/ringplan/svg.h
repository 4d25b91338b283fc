// SPDX-License-Identifier: BSD-3-Clause
// The timeline of one iteration under each rule as a picture: what the processor does, what the
// link does, and where the forward pass waits. Red is urgent (the first layers), blue is not.
#pragma once

#include <string>

#include "tools/ringplan/comparison.h"

namespace ringrt::ringplan {

[[nodiscard]] std::string svg(const Comparison &comparison);

}  // namespace ringrt::ringplan
