// SPDX-License-Identifier: BSD-3-Clause
// The order in which the ranks' values of one element are added. PURE.
//
// Element i of `total` over p ranks; block b is share(total, p, b) (base/share.h):
//   rank   the left fold in rank order: ((s0 + s1) + s2) + ...
//   ring   the left fold that starts after the element's block: for an element of block b it is
//          ((s[b+1] + s[b+2]) + ...) + s[b], ranks modulo p. This is the order of a ring. Only for
//          allreduce: a reduce-scatter adds in rank order.
//   tree   T(0, p), where T(i, j) = T(i, i+q) + T(i+q, j) and q is the largest power of two below
//          j - i. Ranks 0 to 2^k-1, 2^k to 2·2^k-1 and so on are its branches. A rank that holds
//          the sum of a branch adds it like its ranks would, so 1, 2, 4, 8 ... ranks get the same
//          bits.
// With two ranks all orders are equal, because an addition commutes.
#pragma once

#include <cstdint>

#include "libringrt/reduce/reduce.h"

namespace ringrt {

enum class Order : uint8_t { Rank, Ring, Tree };

// `work` has elements [first, first + work.count) of `total`. Its sources are those of all ranks,
// in rank order, without a partial. With Order::Tree they may be those of a branch.
void reduce_in_order(Order order, const Reduction &work, size_t first, size_t total);

// Like reduce(), but the sources are partials.
void reduce_partials(const Reduction &work);

}  // namespace ringrt
