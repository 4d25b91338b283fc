// SPDX-License-Identifier: BSD-3-Clause
// Properties of the terminal.
#pragma once

#include "tools/ringstat/chart.h"

namespace ringrt::ringstat {

// The terminal's width, 80 if standard output is not a terminal; UTF-8 by the locale.
[[nodiscard]] Screen this_screen();
[[nodiscard]] std::size_t screen_lines();  // 24 if standard output is not a terminal

}  // namespace ringrt::ringstat
