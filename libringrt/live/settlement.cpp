// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/live/settlement.h"

#include <algorithm>

namespace ringrt::live {
namespace {

// Whether the rows of all these ranks are those of one step, and tile their matrices.
bool have_rows(const std::vector<Position> &all, const Position &newest) {
    return std::ranges::all_of(all, [&](const Position &each) {
        return each.rows == all.size() && each.step == newest.step && each.torn == 0;
    });
}

// The newest step of which all ranks of the base have their parts of a copy; kNoStep: none.
uint64_t common_copy(const std::vector<Position> &all, int base) {
    uint64_t out = kNoStep;
    for (const uint64_t step : all[0].copies) {
        const bool is_common = std::all_of(all.begin(), all.begin() + base, [&](const auto &each) {
            return std::ranges::find(each.copies, step) != std::end(each.copies);
        });
        if (step != kNoStep && is_common && (out == kNoStep || step > out)) out = step;
    }
    return out;
}

}  // namespace

Settlement agree_on(const std::vector<Position> &all, int base, bool has_rows) {
    const auto newest = std::max_element(all.begin(), all.end(), is_behind);
    const auto oldest = std::min_element(all.begin(), all.end(), is_behind);
    Settlement out{.root = static_cast<int>(newest - all.begin()),
                   .is_a_rank_behind = is_behind(*oldest, *newest)};
    // A rank that saw a loss in the last ballot needs no rows any more, and the others do not load.
    out.is_over = std::ranges::any_of(all, [](const Position &each) { return each.over != 0; });
    if (!has_rows || out.is_over || have_rows(all, *newest)) return out;
    out.copy = common_copy(all, base);
    out.rows = out.copy != kNoStep ? RowsFrom::copy : RowsFrom::checkpoint;
    return out;
}

}  // namespace ringrt::live
