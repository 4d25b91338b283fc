// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/gradients/transfer_layout.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace ringrt {

using namespace bucketing;

namespace {

// Where each gradient is cut, including its start and end, and the number of its first atom.
struct Cuts {
    std::vector<std::vector<uint64_t>> at;
    std::vector<uint32_t> first_atom;
};

Cuts cuts_of(const Plan &plan, size_t gradients) {
    std::vector<std::set<uint64_t>> sets(gradients);
    for (const Block &block : plan.blocks) {
        for (const Piece &piece : block.pieces) {
            sets[piece.gradient].insert({piece.offset, piece.offset + piece.bytes});
        }
    }
    Cuts cuts;
    uint32_t atoms = 0;
    for (const auto &set : sets) {
        cuts.at.emplace_back(set.begin(), set.end());
        cuts.first_atom.push_back(atoms);
        if (set.size() > 1) atoms += static_cast<uint32_t>(set.size() - 1);
    }
    return cuts;
}

std::vector<Atom> atoms_of(const Cuts &cuts, int ranks, uint64_t element_bytes) {
    std::vector<Atom> atoms;
    for (uint32_t id = 0; id < cuts.at.size(); ++id) {
        for (size_t i = 1; i < cuts.at[id].size(); ++i) {
            Atom atom{.gradient = id, .offset = cuts.at[id][i - 1]};
            atom.bytes = cuts.at[id][i] - atom.offset;
            const uint64_t elements = atom.bytes / element_bytes;
            const auto count = static_cast<uint64_t>(ranks);
            atom.share_bytes = (elements + count - 1) / count * element_bytes;
            atoms.push_back(atom);
        }
    }
    return atoms;
}

Transfer transfer_of(const Block &block, bool reduces, const Cuts &cuts,
                     const std::vector<Atom> &atoms, uint64_t staged_below) {
    Transfer out{.reduces = reduces, .atoms = {}};
    out.not_before_us = block.not_before_us;
    for (const Piece &piece : block.pieces) {
        const auto &at = cuts.at[piece.gradient];
        const auto from = std::ranges::lower_bound(at, piece.offset) - at.begin();
        auto atom = cuts.first_atom[piece.gradient] + static_cast<uint32_t>(from);
        for (; atom < atoms.size() && atoms[atom].gradient == piece.gradient &&
               atoms[atom].offset < piece.offset + piece.bytes;
             ++atom) {
            out.atoms.push_back(atom);
            out.share_bytes += atoms[atom].share_bytes;
            out.bytes += atoms[atom].bytes;
        }
    }
    const auto is_small = [&](uint32_t atom) { return atoms[atom].share_bytes < staged_below; };
    // (Not std::ranges::stable_partition: clang 14 does not compile it with libstdc++ 12.)
    const auto large = std::stable_partition(out.atoms.begin(), out.atoms.end(), is_small);
    out.staged = static_cast<size_t>(large - out.atoms.begin());
    for (size_t i = 0; i < out.staged; ++i) {
        out.staged_share_bytes += atoms[out.atoms[i]].share_bytes;
    }
    return out;
}

// Bytes of share `rank` that belong to the gradient, without padding.
uint64_t held(const Atom &atom, uint64_t rank) {
    const uint64_t start = rank * atom.share_bytes;
    return start >= atom.bytes ? 0 : std::min(atom.share_bytes, atom.bytes - start);
}

}  // namespace

Layout lay_out(const Plan &plan, const std::vector<uint64_t> &gradient_bytes, int ranks,
               uint64_t element_bytes) {
    Layout out;
    const Cuts cuts = cuts_of(plan, gradient_bytes.size());
    out.atoms = atoms_of(cuts, ranks, element_bytes);
    for (const Block &block : plan.blocks) {
        for (bool reduces : {true, false}) {
            if (block.phase == (reduces ? Phase::all_gather : Phase::reduce_scatter)) continue;
            out.transfers.push_back(transfer_of(block, reduces, cuts, out.atoms,
                                                staged_below_bytes(ranks, element_bytes)));
            const Transfer &transfer = out.transfers.back();
            out.most_staged_share_bytes =
                std::max(out.most_staged_share_bytes, transfer.staged_share_bytes);
            if (!reduces) continue;
            for (uint32_t atom : transfer.atoms) {
                out.atoms[atom].shard_offset = out.own_bytes;
                out.own_bytes += out.atoms[atom].share_bytes;
            }
        }
    }
    return out;
}

void stage(const Layout &layout, const Transfer &transfer,
           const std::vector<std::byte *> &gradients, std::byte *staging, int ranks) {
    for (uint64_t rank = 0; rank < static_cast<uint64_t>(ranks); ++rank) {
        for (size_t i = 0; i < transfer.staged; ++i) {
            const Atom &atom = layout.atoms[transfer.atoms[i]];
            const uint64_t bytes = held(atom, rank);
            const std::byte *from = gradients[atom.gradient] + atom.offset;
            if (bytes > 0) std::memcpy(staging, from + rank * atom.share_bytes, bytes);
            std::memset(staging + bytes, 0, atom.share_bytes - bytes);
            staging += atom.share_bytes;
        }
    }
}

void unstage(const Layout &layout, const Transfer &transfer,
             const std::vector<std::byte *> &gradients, const std::byte *staging, int ranks) {
    for (uint64_t rank = 0; rank < static_cast<uint64_t>(ranks); ++rank) {
        for (size_t i = 0; i < transfer.staged; ++i) {
            const Atom &atom = layout.atoms[transfer.atoms[i]];
            const uint64_t bytes = held(atom, rank);
            std::byte *to = gradients[atom.gradient] + atom.offset;
            if (bytes > 0) std::memcpy(to + rank * atom.share_bytes, staging, bytes);
            staging += atom.share_bytes;
        }
    }
}

Ranges ranges_of(const Layout &layout, const Transfer &transfer,
                 const std::vector<std::byte *> &gradients, std::byte *staging, std::byte *padding,
                 int ranks) {
    Ranges out;
    for (uint64_t rank = 0; rank < static_cast<uint64_t>(ranks); ++rank) {
        out.add(staging + rank * transfer.staged_share_bytes, transfer.staged_share_bytes);
        for (size_t i = transfer.staged; i < transfer.atoms.size(); ++i) {
            const Atom &atom = layout.atoms[transfer.atoms[i]];
            const uint64_t bytes = held(atom, rank);
            out.add(gradients[atom.gradient] + atom.offset + rank * atom.share_bytes, bytes);
            out.add(padding, atom.share_bytes - bytes);
        }
    }
    return out;
}

Ranges own_ranges(const Layout &layout, const Transfer &transfer, std::byte *own) {
    Ranges out;
    for (uint32_t number : transfer.atoms) {
        out.add(own + layout.atoms[number].shard_offset, layout.atoms[number].share_bytes);
    }
    return out;
}

}  // namespace ringrt
