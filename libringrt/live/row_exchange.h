// SPDX-License-Identifier: BSD-3-Clause
// Sends rows between the ranks in chunks. Host memory is sent as it lies; a chunk of a GPU's buffer
// passes through a staging half.
#pragma once

#include <cstdint>
#include <vector>

#include "libringrt/collective/communicator.h"
#include "libringrt/live/state_chunks.h"

namespace ringrt::live {

struct RowSpan {
    uint64_t first = 0, count = 0;

    bool operator==(const RowSpan &) const = default;
};

// The rows that are in both.
[[nodiscard]] RowSpan common(const RowSpan &a, const RowSpan &b);

// Rows [first, first + count) that this rank sends to, receives from, or keeps as `peer`.
struct RowPart {
    bool send = false, receive = false;  // both: they stay at this rank
    int peer = 0;
    uint64_t first = 0, count = 0;

    bool operator==(const RowPart &) const = default;
};

// PURE. What `rank` does with a matrix whose rows the ranks hold as `held`, which tiles it, and
// will hold as `fresh`. In an order that the parts of all ranks have in common: by sender, then by
// receiver.
[[nodiscard]] std::vector<RowPart> parts_of(const std::vector<RowSpan> &held,
                                            const std::vector<RowSpan> &fresh, int rank);

// A part's memory at this rank. No `from`: it is received; no `to`: it is sent.
struct RowLeg {
    int peer = 0;
    uint64_t bytes = 0;
    Place from, to;
};

// Collective: the legs of all ranks are of one list in order, of which each has its own. All take
// part until the end, so that a GPU's failure at one rank costs the others no wait.
Status exchange_rows(Communicator &over, const std::vector<RowLeg> &legs);

}  // namespace ringrt::live
