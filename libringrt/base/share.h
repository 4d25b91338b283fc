// SPDX-License-Identifier: BSD-3-Clause
// How elements are divided among ranks. PURE.
#pragma once

#include <cstddef>

namespace ringrt {

// The part of `count` elements that belongs to `rank`: [first, first + count). The first count %
// size ranks get one more element.
struct Share {
    size_t first = 0, count = 0;
};
[[nodiscard]] constexpr Share share(size_t count, int size, int rank) {
    size_t p = size_t(size), r = size_t(rank), base = count / p, extra = count % p;
    return {.first = r * base + (r < extra ? r : extra), .count = base + (r < extra ? 1 : 0)};
}

}  // namespace ringrt
