// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/reduce/order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "libringrt/base/share.h"
#include "libringrt/reduce/part.h"

namespace ringrt {
namespace {

constexpr size_t kTileBytes = 8 << 10;  // of a partial; several fit in the first-level cache
// Up to this number the tree equals the left fold.
constexpr size_t kFoldSources = 3;

bool is_narrow(ringrt_dtype_t dtype) { return partial_bytes(dtype) != dtype_bytes(dtype); }

// Reduces one tile at a time and keeps its branches' sums in the cache.
class Tree {
  public:
    explicit Tree(size_t sources) {
        for (size_t left = sources; left > kFoldSources; left = std::bit_floor(left - 1))
            scratch_.resize(scratch_.size() + 2 * kTileBytes);
        // The right branch is never deeper than the left one.
    }

    void reduce(const Reduction &tile) {
        const size_t total = tile.sources.size();
        if (total <= kFoldSources) return ringrt::reduce(tile);
        add(tile, 0, total, tile.finish, tile.out, 0);
    }

  private:
    std::byte *scratch(size_t depth, size_t side) {
        return scratch_.data() + (2 * depth + side) * kTileBytes;
    }
    // T(first, last) to `out`; with `finish` to all outs, otherwise as a partial.
    void add(const Reduction &tile, size_t first, size_t last, bool finish, void *out,
             size_t depth) {
        Reduction step = tile;
        step.out = out, step.finish = finish;
        if (!finish) step.more_outs = {}, step.store = StoreHint::Cached;
        if (last - first <= kFoldSources) {
            step.sources = tile.sources.subspan(first, last - first);
            return ringrt::reduce(step);
        }
        const size_t middle = first + std::bit_floor(last - first - 1);
        add(tile, first, middle, false, scratch(depth, 0), depth + 1);
        step.partial = scratch(depth, 0);
        if (last - middle == 1) {
            step.sources = tile.sources.subspan(middle, 1);
            return ringrt::reduce(step);
        }
        add(tile, middle, last, false, scratch(depth, 1), depth + 1);
        const void *right = scratch(depth, 1);
        step.sources = std::span(&right, 1);
        reduce_partials(step);
    }

    std::vector<std::byte> scratch_;
};

void reduce_tree(const Reduction &work) {
    if (work.sources.size() <= kFoldSources) return reduce(work);
    const size_t tile = kTileBytes / partial_bytes(work.dtype);
    Tree tree(work.sources.size());
    ReductionPart part(work);
    for (size_t at = 0; at < work.count; at += tile)
        tree.reduce(part.of(at, std::min(tile, work.count - at)));
}

// Block by block, each with the sources rotated to start after it.
void reduce_ring(const Reduction &work, size_t first, size_t total) {
    const size_t ranks = work.sources.size(), end = first + work.count;
    ReductionPart part(work);
    std::vector<const void *> turned(ranks);
    for (size_t b = 0; b < ranks; ++b) {
        const Share block = share(total, int(ranks), int(b));
        const size_t from = std::max(block.first, first),
                     to = std::min(block.first + block.count, end);
        if (from >= to) continue;
        Reduction piece = part.of(from - first, to - from);
        for (size_t k = 0; k < ranks; ++k) turned[k] = piece.sources[(b + 1 + k) % ranks];
        piece.sources = turned;
        reduce(piece);
    }
}

}  // namespace

void reduce_in_order(Order order, const Reduction &work, size_t first, size_t total) {
    if (order == Order::Rank || work.sources.size() < kFoldSources) return reduce(work);
    if (order == Order::Tree) return reduce_tree(work);
    reduce_ring(work, first, total);
}

void reduce_partials(const Reduction &work) {
    if (!is_narrow(work.dtype)) return reduce(work);
    // Adds in fp32, then rounds once.
    constexpr size_t kTile = kTileBytes / sizeof(float);
    std::array<float, kTile> sum;
    std::vector<const void *> sources(work.sources.size());
    ReductionPart part(work);
    for (size_t at = 0; at < work.count; at += kTile) {
        Reduction tile = part.of(at, std::min(kTile, work.count - at));
        Reduction wide = tile;
        auto moved = [&](const void *place) { return static_cast<const float *>(place) + at; };
        for (size_t k = 0; k < sources.size(); ++k) sources[k] = moved(work.sources[k]);
        wide.dtype = RINGRT_FLOAT32, wide.finish = false, wide.more_outs = {};
        wide.store = StoreHint::Cached;
        wide.partial = work.partial == nullptr ? nullptr : moved(work.partial);
        wide.sources = sources, wide.out = sum.data();
        reduce(wide);
        tile.partial = sum.data(), tile.sources = {};
        reduce(tile);
    }
}

}  // namespace ringrt
