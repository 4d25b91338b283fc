// SPDX-License-Identifier: BSD-3-Clause
// Divides the elements of a collective into chunks, and each chunk into the ranks' shares.
#pragma once

#include <algorithm>

#include "libringrt/base/share.h"

namespace ringrt {

struct Chunks {
    size_t count, each;  // elements: in total, per chunk

    [[nodiscard]] size_t number() const { return (count + each - 1) / each; }
    [[nodiscard]] Share chunk(size_t i) const {
        return {.first = i * each, .count = std::min(each, count - i * each)};
    }
    // Relative to the chunk's first element. Whole cache lines of `line` elements, except in the
    // last share.
    [[nodiscard]] static Share part(size_t elements, size_t line, int ranks, int index) {
        size_t lines = (elements + line - 1) / line;
        Share part = share(lines, ranks, index);
        size_t first = std::min(part.first * line, elements);
        size_t end = std::min((part.first + part.count) * line, elements);
        return {.first = first, .count = end - first};
    }
};

}  // namespace ringrt
