// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a tensor: which part of it a rank holds, and which bytes two blocks have in common.
// PURE.
//
// A block holds, in each dimension d, the indices [offset[d], offset[d] + extent[d]). Its bytes are
// those of its elements in row-major order, so they are contiguous in the memory of the rank that
// holds it, and in the file that this rank writes. Blocks of any shape can tile a tensor: they need
// not form a grid.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libringrt/base/status.h"

namespace ringrt::checkpoint {

inline constexpr size_t kDimensionsMax = 16;

struct Block {
    std::vector<uint64_t> offset, extent;  // one per dimension

    bool operator==(const Block &) const = default;
};

[[nodiscard]] Block whole_block(const std::vector<uint64_t> &shape);
// Indices [first, first + rows) of the first dimension.
[[nodiscard]] Block rows_block(const std::vector<uint64_t> &shape, uint64_t first, uint64_t rows);
[[nodiscard]] uint64_t elements_of(const Block &block);
[[nodiscard]] bool is_inside(const Block &block, const std::vector<uint64_t> &shape);
// Whether the block is cut in the first dimension only, or empty.
[[nodiscard]] bool is_rows(const Block &block, const std::vector<uint64_t> &shape);

// Ok if the blocks, each of which is inside, hold every element exactly once. Otherwise MISMATCH
// with one line; blocks[r] is then rank r's. Empty blocks are allowed.
Status check_blocks(const std::string &name, const std::vector<uint64_t> &shape,
                    const std::vector<Block> &blocks);

// Blocks that tile a tensor, none of them empty. The tensor's bytes in a checkpoint are those of
// its blocks, one block after the other.
struct Tiling {
    std::vector<uint64_t> shape;
    std::vector<Block> blocks;
    std::vector<uint64_t> starts;  // of each block, in elements

    void add(Block block) {
        starts.push_back(starts.empty() ? 0 : starts.back() + elements_of(blocks.back()));
        blocks.push_back(std::move(block));
    }
};

// Bytes [from, from + bytes) of one range of bytes are bytes [to, to + bytes) of another.
struct Run {
    uint64_t from = 0, to = 0, bytes = 0;
};

// What a saved block and a block held here have in common.
class Common {
  public:
    Common(const Block &saved, const Block &here, uint64_t element_bytes);

    // Calls each(run) for the common part of the saved block's bytes [first, last): `from` counts
    // from `first`, `to` from the start of the block here. In ascending order of `from`.
    template <class Each>
    void runs(uint64_t first, uint64_t last, Each &&each) const {
        if (is_none_) return;
        const Dimension &inner = dimensions_[count_ - 1];
        const uint64_t row_bytes = inner.saved;
        const uint64_t begin = std::max(first / row_bytes, first_row_);
        const uint64_t end = std::min((last + row_bytes - 1) / row_bytes, end_row_);
        for (uint64_t row = begin; row < end; ++row) {
            const uint64_t at = row * row_bytes;
            const uint64_t from = std::max(first > at ? first - at : 0, inner.from);
            const uint64_t to = std::min(last - at, inner.to);
            uint64_t row_here = 0;
            if (from >= to || !find_row(row, row_here)) continue;
            each(Run{.from = at + from - first,
                     .to = row_here * inner.here + (from - inner.from) + inner.here_at,
                     .bytes = to - from});
        }
    }

  private:
    // Dimensions that both blocks hold alike are merged with the one before. The last one counts
    // bytes.
    struct Dimension {
        uint64_t saved = 0, here = 0;  // extents
        uint64_t from = 0, to = 0;     // the common indices, from the saved block's first
        uint64_t here_at = 0;          // where they begin in the block here
    };

    // The row in the block here that is the saved block's `row`; false if it is not common.
    bool find_row(uint64_t row, uint64_t &row_here) const {
        uint64_t stride = 1;
        for (size_t d = count_ - 1; d-- > 0;) {
            const Dimension &at = dimensions_[d];
            const uint64_t index = row % at.saved;
            row /= at.saved;
            if (index < at.from || index >= at.to) return false;
            row_here += (index - at.from + at.here_at) * stride;
            stride *= at.here;
        }
        return true;
    }

    std::array<Dimension, kDimensionsMax + 1> dimensions_;
    size_t count_ = 0;
    uint64_t first_row_ = 0, end_row_ = 0;
    bool is_none_ = true;
};

}  // namespace ringrt::checkpoint
