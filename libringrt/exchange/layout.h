// SPDX-License-Identifier: BSD-3-Clause
// How a plan's byte ranges lie in the buffers of the collectives. PURE.
//
// The two phases of a plan cut gradients at different places. An atom is a range that neither phase
// cuts. Of every atom, rank r owns the r-th of `ranks` equal shares (the last ones padded with
// zeros). A transfer's buffer holds, rank after rank, that rank's shares of all its atoms: so
// reduce-scatter leaves each rank its own shares in one piece, and any set of atoms can be gathered
// later.
#pragma once

#include <cstdint>
#include <vector>

#include "libringrt/grouping/plan.h"

namespace ringrt {

struct Atom {
    uint32_t gradient = 0;
    uint64_t offset = 0, bytes = 0;
    uint64_t share_bytes = 0;
    uint64_t own_at = 0;  // where this rank keeps its share, among all of its shares
};

struct Transfer {
    bool reduces = true;  // else gathers
    std::vector<uint32_t> atoms;
    uint64_t share_bytes = 0;  // of all its atoms
    uint64_t bytes = 0;        // of all its atoms, without padding
    double not_before_us = 0;  // from the start of the step
};

struct Layout {
    std::vector<Atom> atoms;
    std::vector<Transfer> transfers;  // in the plan's order; an allreduce is two
    uint64_t own_bytes = 0;
    uint64_t most_share_bytes = 0;  // of a transfer
};

// `plan` must be sound for gradients of these sizes, and cut between elements.
[[nodiscard]] Layout lay_out(const grouping::Plan &plan,
                             const std::vector<uint64_t> &gradient_bytes, int ranks,
                             uint64_t element_bytes);

// Copies the shares of one atom between the gradient's bytes and a transfer's buffer, in which its
// shares start at `at` and lie `stride` bytes apart. Padding is zeroed on the way in.
void copy_in(const Atom &atom, const std::byte *gradient, std::byte *buffer, uint64_t at,
             uint64_t stride, int ranks);
void copy_out(const Atom &atom, std::byte *gradient, const std::byte *buffer, uint64_t at,
              uint64_t stride, int ranks);

}  // namespace ringrt
