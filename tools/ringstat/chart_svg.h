// SPDX-License-Identifier: BSD-3-Clause
// A timeline as a self-contained picture: no script, no font, light and dark.
#pragma once

#include <string>

#include "tools/ringstat/timeline.h"

namespace ringrt::ringstat {

[[nodiscard]] std::string chart_svg(const Timeline &timeline);

}  // namespace ringrt::ringstat
