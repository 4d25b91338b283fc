// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/blocks.h"

#include <algorithm>
#include <set>

namespace ringrt::checkpoint {
namespace {

using u64 = unsigned long long;

// More comparisons than any tiling by a job's ranks takes. A damaged or hostile manifest must not
// cost minutes.
constexpr uint64_t kComparisonsMax = uint64_t{1} << 30;

bool overlap(const Block &a, const Block &b) {
    for (size_t d = 0; d < a.offset.size(); ++d)
        if (a.offset[d] >= b.offset[d] + b.extent[d] || b.offset[d] >= a.offset[d] + a.extent[d])
            return false;
    return true;
}

// The dimension with the most cuts: few blocks overlap each other in it.
size_t most_cut(const std::vector<Block> &blocks, size_t dimensions) {
    size_t best = 0, most = 0;
    for (size_t d = 0; d < dimensions; ++d) {
        std::set<uint64_t> offsets;
        for (const Block &block : blocks) offsets.insert(block.offset[d]);
        if (offsets.size() > most) {
            most = offsets.size();
            best = d;
        }
    }
    return best;
}

std::string index_text(const Block &a, const Block &b) {
    std::string out;
    for (size_t d = 0; d < a.offset.size(); ++d)
        out += format_text("%s%llu", d ? ", " : "",
                           static_cast<u64>(std::max(a.offset[d], b.offset[d])));
    return "[" + out + "]";
}

// Sweeps along one dimension: a block is compared with those that the sweep has reached and not yet
// passed.
Status check_apart(const std::string &name, const std::vector<Block> &blocks, size_t along) {
    std::vector<size_t> order, active;
    for (size_t i = 0; i < blocks.size(); ++i)
        if (elements_of(blocks[i]) > 0) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return blocks[i].offset[along]; });
    uint64_t comparisons = 0;
    for (const size_t next : order) {
        const Block &block = blocks[next];
        std::erase_if(active, [&](size_t i) {
            return blocks[i].offset[along] + blocks[i].extent[along] <= block.offset[along];
        });
        comparisons += active.size();
        if (comparisons > kComparisonsMax)
            return {
                RINGRT_MISMATCH,
                format_text("buffer %s: too many blocks that are cut irregularly", name.c_str())};
        for (const size_t other : active)
            if (overlap(blocks[other], block))
                return {RINGRT_MISMATCH,
                        format_text("buffer %s: the blocks of ranks %zu and %zu overlap at ",
                                    name.c_str(), std::min(other, next), std::max(other, next)) +
                            index_text(blocks[other], block)};
        active.push_back(next);
    }
    return {};
}

}  // namespace

Block whole_block(const std::vector<uint64_t> &shape) {
    return {.offset = std::vector<uint64_t>(shape.size()), .extent = shape};
}

Block rows_block(const std::vector<uint64_t> &shape, uint64_t first, uint64_t rows) {
    Block block = whole_block(shape);
    block.offset[0] = first;
    block.extent[0] = rows;
    return block;
}

uint64_t elements_of(const Block &block) {
    uint64_t elements = 1;
    for (const uint64_t extent : block.extent) elements *= extent;
    return elements;
}

bool is_inside(const Block &block, const std::vector<uint64_t> &shape) {
    if (block.offset.size() != shape.size() || block.extent.size() != shape.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d)
        if (block.offset[d] > shape[d] || block.extent[d] > shape[d] - block.offset[d])
            return false;
    return true;
}

bool is_rows(const Block &block, const std::vector<uint64_t> &shape) {
    if (elements_of(block) == 0) return true;
    return std::equal(block.extent.begin() + 1, block.extent.end(), shape.begin() + 1);
}

Status check_blocks(const std::string &name, const std::vector<uint64_t> &shape,
                    const std::vector<Block> &blocks) {
    RINGRT_TRY(check_apart(name, blocks, most_cut(blocks, shape.size())));
    uint64_t held = 0;
    for (const Block &block : blocks) held += elements_of(block);
    const uint64_t all = elements_of(whole_block(shape));
    if (held == all) return {};
    return {RINGRT_MISMATCH,
            format_text("buffer %s: the ranks' blocks hold %llu of its %llu elements", name.c_str(),
                        static_cast<u64>(held), static_cast<u64>(all))};
}

Common::Common(const Block &saved, const Block &here, uint64_t element_bytes) {
    struct Side {
        uint64_t offset, extent;
    };
    Side inner_saved{0, element_bytes}, inner_here{0, element_bytes};
    std::array<std::pair<Side, Side>, kDimensionsMax + 1> merged;  // innermost first
    for (size_t d = saved.offset.size(); d-- > 0;) {
        const bool alike =
            inner_saved.offset == inner_here.offset && inner_saved.extent == inner_here.extent;
        const uint64_t times = alike ? inner_saved.extent : 1;
        if (!alike) merged[count_++] = {inner_saved, inner_here};
        inner_saved = {saved.offset[d] * times, saved.extent[d] * times};
        inner_here = {here.offset[d] * times, here.extent[d] * times};
    }
    merged[count_++] = {inner_saved, inner_here};
    uint64_t rows_below = 1;  // rows of the last dimension in one index of the first
    for (size_t d = 0; d < count_; ++d) {
        const auto &[of_saved, of_here] = merged[count_ - 1 - d];
        const uint64_t first = std::max(of_saved.offset, of_here.offset);
        const uint64_t end =
            std::min(of_saved.offset + of_saved.extent, of_here.offset + of_here.extent);
        if (first >= end) return;
        dimensions_[d] = {.saved = of_saved.extent,
                          .here = of_here.extent,
                          .from = first - of_saved.offset,
                          .to = end - of_saved.offset,
                          .here_at = first - of_here.offset};
        if (d > 0 && d + 1 < count_) rows_below *= of_saved.extent;
    }
    is_none_ = false;
    first_row_ = count_ > 1 ? dimensions_[0].from * rows_below : 0;
    end_row_ = count_ > 1 ? dimensions_[0].to * rows_below : 1;
}

}  // namespace ringrt::checkpoint
