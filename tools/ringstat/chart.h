// SPDX-License-Identifier: BSD-3-Clause
// A timeline as text: one line per job; the height of a block is its number of GPUs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/ringstat/timeline.h"

namespace ringrt::ringstat {

struct Screen {
    std::size_t columns = 80;
    bool utf8 = true;
};

// "HH:MM:SS", "HH:MM" or "Nov 22 13:00", as precise as the length `whole_s` requires. Local time.
[[nodiscard]] std::string clock_text(double time_s, double whole_s);

// Times of the marks on an axis from start_s to end_s: at most `most`, at whole units.
[[nodiscard]] std::vector<double> clock_marks(double start_s, double end_s, int most);

[[nodiscard]] std::string chart_text(const Timeline &timeline, const Screen &screen);

// {"start", "end", "jobs": [{"id", "name", "resizes", "end", "phases": [{"start", "end", "gpus", …
[[nodiscard]] std::string chart_json(const Timeline &timeline);

}  // namespace ringrt::ringstat
