// SPDX-License-Identifier: BSD-3-Clause
// What is known of the place where text is shown.
#pragma once

#include "tools/ringstat/chart.h"

namespace ringrt::ringstat {

// The terminal's width, 80 where standard output is none; UTF-8 by the locale.
[[nodiscard]] Screen this_screen();
[[nodiscard]] std::size_t screen_lines();  // 24 where standard output is no terminal

}  // namespace ringrt::ringstat
