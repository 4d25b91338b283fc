// SPDX-License-Identifier: BSD-3-Clause
// What a rank brings to a settling, and what ranks that join or are behind get.
#pragma once

#include <cstdint>

namespace ringrt::live {

inline constexpr uint64_t kNoStep = UINT64_MAX;

// The training position, besides what is registered.
struct Position {
    uint64_t step = 0;
    uint64_t samples = 0;
    uint32_t batch = 0;  // of a step from now on
    uint32_t torn = 0;   // 1: parts of two steps, because the sender of the newer was lost
    uint32_t rows = 0;   // the ranks for which this rank's rows are placed; 0: it has none
    uint32_t over = 0;   // 1: its training has ended
    uint64_t copies[2] = {kNoStep, kNoStep};  // steps of which it holds its part of a copy
};

// Whether the rank at `a` has less than the rank at `b`. A torn state is behind every whole one.
[[nodiscard]] constexpr bool is_behind(const Position &a, const Position &b) {
    return a.torn != b.torn ? a.torn > b.torn : a.torn == 0 && a.step < b.step;
}

}  // namespace ringrt::live
