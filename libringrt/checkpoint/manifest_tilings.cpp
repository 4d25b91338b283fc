// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/checkpoint/manifest_tilings.h"

#include <algorithm>

#include "libringrt/checkpoint/manifest.h"

namespace ringrt::checkpoint {
namespace {

using u64 = unsigned long long;

// Every block has elements and an end that is no overflow.
bool is_block(const Block &block) {
    for (size_t d = 0; d < block.offset.size(); ++d)
        if (block.extent[d] == 0 || block.offset[d] > kParameterBytesMax - block.extent[d])
            return false;
    return true;
}

bool read_numbers(Words &words, std::vector<uint64_t> &out) {
    while (!words.at_end()) {
        if (out.size() == 2 * kDimensionsMax) return false;
        if (!words.number(out.emplace_back(), kParameterBytesMax)) return false;
    }
    return !out.empty() && out.size() % 2 == 0;
}

std::vector<uint64_t> shape_of(const std::vector<Block> &blocks) {
    std::vector<uint64_t> shape(blocks.front().offset.size());
    for (const Block &block : blocks)
        for (size_t d = 0; d < shape.size(); ++d)
            shape[d] = std::max(shape[d], block.offset[d] + block.extent[d]);
    return shape;
}

std::string block_line(size_t number, const Block &block) {
    std::string line = format_text("block %zu", number);
    for (const std::vector<uint64_t> *side : {&block.offset, &block.extent})
        for (const uint64_t value : *side) line += format_text(" %llu", static_cast<u64>(value));
    return line + "\n";
}

bool is_same(const Tiling &a, const Tiling &b) { return a.blocks == b.blocks; }

}  // namespace

TilingWriter::TilingWriter(const std::vector<Parameter> &parameters) {
    std::vector<const Tiling *> different;
    for (const Parameter &parameter : parameters) {
        const Tiling *tiling = parameter.tiling.get();
        if (!tiling || numbers_.contains(tiling)) continue;
        const auto same = std::ranges::find_if(
            different, [&](const Tiling *other) { return is_same(*other, *tiling); });
        numbers_[tiling] = static_cast<size_t>(same - different.begin());
        if (same != different.end()) continue;
        for (const Block &block : tiling->blocks) lines_ += block_line(different.size(), block);
        different.push_back(tiling);
    }
}

std::string TilingWriter::held(const Parameter &parameter) const {
    if (parameter.blob) return "blob";
    if (!parameter.tiling) return parameter.sharded ? "rows" : "whole";
    return format_text("tiling %zu", numbers_.at(parameter.tiling.get()));
}

bool TilingReader::read(Words &words, uint32_t ranks) {
    size_t number = 0;
    std::vector<uint64_t> numbers;
    if (blocks_ == kBlocksMax || !words.number(number, entries_.size()) ||
        number + 1 < entries_.size() || !read_numbers(words, numbers))
        return false;
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    Block block{{numbers.begin(), middle}, {middle, numbers.end()}};
    if (!is_block(block)) return false;
    if (number == entries_.size()) entries_.push_back({std::make_shared<Tiling>(), false});
    std::vector<Block> &blocks = entries_[number].tiling->blocks;
    if (blocks.size() == ranks ||
        (!blocks.empty() && blocks[0].offset.size() != block.offset.size()))
        return false;
    blocks.push_back(std::move(block));
    ++blocks_;
    return true;
}

// The product of the shape's extents is known to be no overflow, so that of the blocks is none.
bool TilingReader::find(size_t number, const std::vector<uint64_t> &shape,
                        std::shared_ptr<const Tiling> &out) {
    if (number >= entries_.size()) return false;
    auto &[tiling, is_checked] = entries_[number];
    if (shape_of(tiling->blocks) != shape) return false;
    if (!is_checked) {
        if (!check_blocks("", shape, tiling->blocks).ok()) return false;
        auto checked = std::make_shared<Tiling>();
        checked->shape = shape;
        for (Block &block : tiling->blocks) checked->add(std::move(block));
        tiling = std::move(checked);
        is_checked = true;
    }
    out = tiling;
    return true;
}

}  // namespace ringrt::checkpoint
