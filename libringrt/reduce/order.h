// SPDX-License-Identifier: BSD-3-Clause
// In which order the ranks' values of one element are added. PURE.
//
// Element i of `total` over p ranks; block b is share(total, p, b) (base/share.h):
//   rank   the left fold in rank order: ((s0 + s1) + s2) + ...
//   ring   the left fold that starts behind the element's block: for an element of block b it is
//          ((s[b+1] + s[b+2]) + ...) + s[b], ranks modulo p. What passes round a ring adds so.
//          Of an allreduce: a reduce-scatter adds in rank order.
//   tree   T(0, p), where T(i, j) = T(i, i+q) + T(i+q, j) and q is the largest power of two below
//          j - i. Ranks 0 to 2^k-1, 2^k to 2·2^k-1 and so on are branches of it: who holds the
//          sum of such ranks adds as they would, so 1, 2, 4, 8 ... ranks get the same bits.
// With two ranks all are the same: an addition of two commutes.
#pragma once

#include <cstdint>

#include "libringrt/reduce/reduce.h"

namespace ringrt {

enum class Order : uint8_t { Rank, Ring, Tree };

// `work` is of elements [first, first + work.count) of `total`, its sources are those of all ranks,
// in rank order, and there is no partial. With Order::Tree they may be of a branch of the tree.
void reduce_in_order(Order order, const Reduction &work, size_t first, size_t total);

// As reduce(), but the sources are partials as well.
void reduce_partials(const Reduction &work);

}  // namespace ringrt
