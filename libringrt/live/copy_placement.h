// SPDX-License-Identifier: BSD-3-Clause
// PURE. Which rank of the base keeps which part of a copy (state_copies.h). A loss takes whole
// extensions and leaves the base, so the base keeps everything. A rank of the base keeps its own
// rows, which are not sent, and the extensions' rows are spread so that the ranks keep equally
// many, where their own rows allow it. A buffer that all ranks hold whole is divided, and not sent
// either.
#pragma once

#include <vector>

#include "libringrt/live/row_exchange.h"

namespace ringrt::live {

// Rows [first, first + count) of a buffer. Of a buffer that is not divided: bytes.
struct CopyPart {
    uint32_t buffer = 0;
    int32_t from = 0, to = 0;  // the rank that holds them, and the one that keeps the copy
    uint64_t first = 0, count = 0;

    bool operator==(const CopyPart &) const = default;
};

// Of rows that the ranks hold as `held`; the first `base` ranks are the base's. In an order that is
// the same at all ranks.
[[nodiscard]] std::vector<CopyPart> copies_of_rows(uint32_t buffer,
                                                   const std::vector<RowSpan> &held, int base);
[[nodiscard]] std::vector<CopyPart> copies_of_whole(uint32_t buffer, uint64_t bytes, int base);

// A part of a copy that `rank` keeps or gets.
struct ReturnLeg {
    size_t part = 0;  // of the copy's parts
    int receiver = 0;
    RowSpan rows;

    bool operator==(const ReturnLeg &) const = default;
};

// What `rank` sends, receives or keeps when each rank r gets wanted[buffer][r], in an order that
// all ranks have in common.
[[nodiscard]] std::vector<ReturnLeg> legs_back(const std::vector<CopyPart> &parts,
                                               const std::vector<std::vector<RowSpan>> &wanted,
                                               int rank);

}  // namespace ringrt::live
