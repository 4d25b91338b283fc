// SPDX-License-Identifier: BSD-3-Clause
// PURE. What ranks that settle agree on, from the position that each of them brings.
#pragma once

#include <vector>

#include "libringrt/live/position.h"

namespace ringrt::live {

// Where ranks that have settled find their rows.
enum class RowsFrom : uint8_t { memory, copy, checkpoint };

struct Settlement {
    // The rank with the newest whole step. All continue from it, unless rows are lost.
    int root = 0;
    bool is_a_rank_behind = false;
    bool is_over = false;  // some have ended the training
    RowsFrom rows = RowsFrom::memory;
    uint64_t copy = kNoStep;  // the step of the copy, if rows are from one
};

// `all`: the positions of the ranks, in order; the first `base` of them are the base's.
[[nodiscard]] Settlement agree_on(const std::vector<Position> &all, int base, bool has_rows);

}  // namespace ringrt::live
