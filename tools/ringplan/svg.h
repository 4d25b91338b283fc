// SPDX-License-Identifier: BSD-3-Clause
// A picture of one iteration's timeline under each rule: processor, link, and waits of the forward
// pass. Red is urgent (the first layers), blue is not.
#pragma once

#include <string>

#include "tools/ringplan/comparison.h"

namespace ringrt::ringplan {

[[nodiscard]] std::string svg(const Comparison &comparison);

}  // namespace ringrt::ringplan
