// SPDX-License-Identifier: BSD-3-Clause
// Maps a plan's byte ranges to the buffers of the collectives. PURE.
//
// The two phases of a plan cut gradients at different places. An atom is a range that neither phase
// cuts. Rank r owns the r-th of `ranks` equal shares of each atom (the last ones padded with
// zeros). A transfer's buffer holds each rank's shares of all its atoms, in rank order. So
// reduce-scatter leaves each rank its own shares in one piece, and any set of atoms can be gathered
// later. The buffer has no memory: shares are read and written in the gradients. Only small shares
// are staged, which costs less than listing their addresses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "libringrt/bucketing/plan.h"
#include "libringrt/schedule/ranges.h"

namespace ringrt {

struct Atom {
    uint32_t gradient = 0;
    uint64_t offset = 0, bytes = 0;
    uint64_t share_bytes = 0;
    uint64_t shard_offset = 0;  // offset of this rank's share among all of its shares
};

struct Transfer {
    bool reduces = true;              // false: gathers
    std::vector<uint32_t> atoms;      // staged atoms first
    size_t staged = 0;                // number of atoms
    uint64_t staged_share_bytes = 0;  // of the staged atoms
    uint64_t share_bytes = 0;         // of all its atoms
    uint64_t bytes = 0;               // of all its atoms, without padding
    double not_before_us = 0;         // from the start of the step
};

struct Layout {
    std::vector<Atom> atoms;
    std::vector<Transfer> transfers;  // in the plan's order; an allreduce is two
    uint64_t own_bytes = 0;
    uint64_t most_staged_share_bytes = 0;  // of any one transfer
};

// Atoms with smaller shares are staged. At least one element per rank, so that a share's missing
// end fits into one padding buffer.
[[nodiscard]] constexpr uint64_t staged_below_bytes(int ranks, uint64_t element_bytes) {
    return std::max<uint64_t>(4096, static_cast<uint64_t>(ranks) * element_bytes);
}

// `plan` must be sound for gradients of these sizes, and cut between elements.
[[nodiscard]] Layout lay_out(const bucketing::Plan &plan,
                             const std::vector<uint64_t> &gradient_bytes, int ranks,
                             uint64_t element_bytes);

// Copy between the gradients and the staging memory, of most_staged_share_bytes per rank. stage()
// zeroes the padding.
void stage(const Layout &layout, const Transfer &transfer,
           const std::vector<std::byte *> &gradients, std::byte *staging, int ranks);
void unstage(const Layout &layout, const Transfer &transfer,
             const std::vector<std::byte *> &gradients, const std::byte *staging, int ranks);

// The memory ranges of a transfer's buffer. `padding`, of staged_below_bytes, replaces the missing
// end of an atom's last shares: zeros to read, or scratch to write.
[[nodiscard]] Ranges ranges_of(const Layout &layout, const Transfer &transfer,
                               const std::vector<std::byte *> &gradients, std::byte *staging,
                               std::byte *padding, int ranks);

// The location of this rank's shares of the transfer's atoms among all of its shares.
[[nodiscard]] Ranges own_ranges(const Layout &layout, const Transfer &transfer, std::byte *own);

}  // namespace ringrt
