// SPDX-License-Identifier: BSD-3-Clause
// How a plan's byte ranges lie in the buffers of the collectives. PURE.
//
// The two phases of a plan cut gradients at different places. An atom is a range that neither phase
// cuts. Of every atom, rank r owns the r-th of `ranks` equal shares (the last ones padded with
// zeros). A transfer's buffer holds, rank after rank, that rank's shares of all its atoms: so
// reduce-scatter leaves each rank its own shares in one piece, and any set of atoms can be gathered
// later. That buffer is no memory of its own: shares travel from and to where they lie in the
// gradients. Only small ones are staged, which costs less than to tell where each lies.
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
    uint64_t shard_offset = 0;  // where this rank keeps its share, among all of its shares
};

struct Transfer {
    bool reduces = true;              // else gathers
    std::vector<uint32_t> atoms;      // the staged ones first
    size_t staged = 0;                // atoms
    uint64_t staged_share_bytes = 0;  // of these
    uint64_t share_bytes = 0;         // of all its atoms
    uint64_t bytes = 0;               // of all its atoms, without padding
    double not_before_us = 0;         // from the start of the step
};

struct Layout {
    std::vector<Atom> atoms;
    std::vector<Transfer> transfers;  // in the plan's order; an allreduce is two
    uint64_t own_bytes = 0;
    uint64_t most_staged_share_bytes = 0;  // of a transfer
};

// Atoms with smaller shares are staged. Not less than an element per rank, so that what a share
// lacks at its end fits into one.
[[nodiscard]] constexpr uint64_t staged_below_bytes(int ranks, uint64_t element_bytes) {
    return std::max<uint64_t>(4096, static_cast<uint64_t>(ranks) * element_bytes);
}

// `plan` must be sound for gradients of these sizes, and cut between elements.
[[nodiscard]] Layout lay_out(const bucketing::Plan &plan,
                             const std::vector<uint64_t> &gradient_bytes, int ranks,
                             uint64_t element_bytes);

// Between the gradients and the staging memory, of most_staged_share_bytes per rank. Padding is
// zeroed on the way in.
void stage(const Layout &layout, const Transfer &transfer,
           const std::vector<std::byte *> &gradients, std::byte *staging, int ranks);
void unstage(const Layout &layout, const Transfer &transfer,
             const std::vector<std::byte *> &gradients, const std::byte *staging, int ranks);

// Where a transfer's buffer lies. `padding`, of staged_below_bytes, stands for what the last shares
// of an atom lack: zeros to read, or anything to write.
[[nodiscard]] Ranges ranges_of(const Layout &layout, const Transfer &transfer,
                               const std::vector<std::byte *> &gradients, std::byte *staging,
                               std::byte *padding, int ranks);

// This rank's shares of a transfer's atoms among all of its shares.
[[nodiscard]] Ranges own_ranges(const Layout &layout, const Transfer &transfer, std::byte *own);

}  // namespace ringrt
