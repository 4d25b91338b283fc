// SPDX-License-Identifier: BSD-3-Clause
// A comparison in the Trace Event Format that chrome://tracing and Perfetto read: one process per
// rule, with a line for the computation and one for the link.
#pragma once

#include <string>

#include "tools/ringplan/comparison.h"

namespace ringrt::ringplan {

[[nodiscard]] std::string chrome_trace(const Comparison &comparison);

}  // namespace ringrt::ringplan
