// SPDX-License-Identifier: BSD-3-Clause
// All-to-all, gather and scatter within one node, piece by piece: each rank stages its blocks for
// the others and copies its own from their staging.
#include <algorithm>

#include "libringrt/shm/shm_collectives.h"

namespace ringrt {

Status ShmCollectives::move_blocks(const Work &work, int only_from, int only_to,
                                   const OpHeader &call) {
    memory_.publish_op(call);
    const int ranks = memory_.count(), me = memory_.index();
    const bool to_all = only_to < 0, from_all = only_from < 0;
    const size_t block = work.count * work.element_bytes / size_t(ranks);
    const size_t each = memory_.shape().chunk_bytes / (to_all ? size_t(ranks) : 1);
    auto sends = [&](int rank) { return from_all || rank == only_from; };
    auto takes = [&](int rank) { return to_all || rank == only_to; };
    auto in = [&](int to) {
        return static_cast<const std::byte *>(work.input) + (to_all ? block * size_t(to) : 0);
    };
    auto out = [&](int from) {
        return static_cast<std::byte *>(work.output) + (from_all ? block * size_t(from) : 0);
    };
    auto staged = [&](int from, int to, uint64_t chunk) {
        return memory_.staging(from, chunk) + (to_all ? each * size_t(to) : 0);
    };
    auto part = [&](size_t i) { return std::min(each, block - std::min(block, i * each)); };
    if (block > 0 && sends(me) && takes(me) && in(me) != out(me))
        copy(out(me), in(me), block, StoreHint::Cached);
    return exchange(
        std::max<size_t>(1, (block + each - 1) / each), call,
        [&](uint64_t chunk, size_t i) {
            for (int to = 0; to < ranks && sends(me); ++to)
                if (to != me && takes(to) && part(i) > 0)
                    copy(staged(me, to, chunk), in(to) + i * each, part(i), StoreHint::Cached);
        },
        [&](uint64_t chunk, size_t i) {
            for (int from = 0; from < ranks && takes(me); ++from)
                if (from != me && sends(from) && part(i) > 0)
                    copy(out(from) + i * each, staged(from, me, chunk), part(i), StoreHint::Cached);
        });
}

}  // namespace ringrt
