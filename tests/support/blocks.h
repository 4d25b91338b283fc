// SPDX-License-Identifier: BSD-3-Clause
// Random tilings of a tensor by ranks, and the value of each element.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "libringrt/checkpoint/layout.h"

namespace ringrt::test {

using checkpoint::Block;

// Cuts the tensor into `parts` blocks, some of which may be empty: no grid, and no even shares.
inline std::vector<Block> random_tiling(const std::vector<uint64_t> &shape, int parts,
                                        std::mt19937_64 &random) {
    std::vector<Block> blocks = {{std::vector<uint64_t>(shape.size()), shape}};
    while (blocks.size() < static_cast<size_t>(parts)) {
        const size_t which = random() % blocks.size(), along = random() % shape.size();
        Block low = blocks[which], high = low;
        const uint64_t extent = low.extent[along], at = random() % (extent + 1);
        low.extent[along] = at;
        high.offset[along] += at;
        high.extent[along] = extent - at;
        blocks[which] = low;
        blocks.push_back(high);
    }
    std::shuffle(blocks.begin(), blocks.end(), random);
    return blocks;
}

// The row-major index in the tensor of element `i` of the block.
inline uint64_t index_of(const Block &block, const std::vector<uint64_t> &shape, uint64_t i) {
    uint64_t index = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
        index += (block.offset[d] + i % block.extent[d]) * stride;
        i /= block.extent[d];
        stride *= shape[d];
    }
    return index;
}

}  // namespace ringrt::test
