// SPDX-License-Identifier: BSD-3-Clause
// A part of a Reduction's elements.
#pragma once

#include <cstddef>
#include <vector>

#include "libringrt/reduce/reduce.h"

namespace ringrt {

// Elements [at, at + count) of a reduction. The reduction and this object must outlive the part.
class ReductionPart {
  public:
    explicit ReductionPart(const Reduction &work)
        : whole_(work), sources_(work.sources.size()), more_outs_(work.more_outs.size()) {}

    Reduction of(size_t at, size_t count) {
        const size_t in = dtype_bytes(whole_.dtype), partial = partial_bytes(whole_.dtype),
                     out = whole_.finish ? in : partial;
        auto moved = [&](const void *place, size_t each) {
            return place == nullptr ? nullptr : static_cast<const std::byte *>(place) + at * each;
        };
        for (size_t k = 0; k < sources_.size(); ++k) sources_[k] = moved(whole_.sources[k], in);
        for (size_t k = 0; k < more_outs_.size(); ++k)
            more_outs_[k] = static_cast<std::byte *>(whole_.more_outs[k]) + at * out;
        Reduction part = whole_;
        part.sources = sources_, part.more_outs = more_outs_;
        part.partial = moved(whole_.partial, partial);
        part.out = static_cast<std::byte *>(whole_.out) + at * out;
        part.count = count;
        return part;
    }

  private:
    const Reduction &whole_;
    std::vector<const void *> sources_;
    std::vector<void *> more_outs_;
};

}  // namespace ringrt
