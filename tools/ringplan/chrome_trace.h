// SPDX-License-Identifier: BSD-3-Clause
// A comparison in the Trace Event Format of chrome://tracing and Perfetto: one process per rule,
// with one line for the computation and one for the link.
#pragma once

#include <string>

#include "tools/ringplan/comparison.h"

namespace ringrt::ringplan {

[[nodiscard]] std::string chrome_trace(const Comparison &comparison);

}  // namespace ringrt::ringplan
