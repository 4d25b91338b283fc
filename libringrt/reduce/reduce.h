// SPDX-License-Identifier: BSD-3-Clause
// reduce: out[i] = ((source0[i] op source1[i]) op source2[i]) op ..., strictly left to right.
//
// fp16, bf16 and fp8 are accumulated in fp32 and rounded once, to nearest even; integers wrap
// around. For bool, sum and max are "or", product and min are "and". A min or max with a NaN is
// NaN. The average divides the reduced sum by the number of ranks (integers: towards zero). Results
// are bit-identical on every processor (except in a NaN's bits): SIMD runs the same operations in
// parallel. RINGRT_SIMD=baseline|avx2 limits the instruction set, which is selected at run time.
#pragma once

#include <cstddef>
#include <span>

#include "libringrt/base/dtype.h"

namespace ringrt {

// Bytes of an element of a partial: fp32 for the short floats, otherwise the type itself.
[[nodiscard]] size_t partial_bytes(ringrt_dtype_t dtype);
[[nodiscard]] bool can_reduce(ringrt_dtype_t dtype, ringrt_op_t op);  // bool has no average

// Plain stores keep the result in this core's cache. Streaming stores bypass it, which is faster if
// another core holds the lines or this core does not read them soon.
enum class StoreHint { Cached, NonTemporal };

struct Reduction {
    ringrt_dtype_t dtype = RINGRT_FLOAT32;
    ringrt_op_t op = RINGRT_SUM;
    int ranks = 1;                         // divisor of the average
    const void *partial = nullptr;         // reduced before the first source, or null
    std::span<const void *const> sources;  // in rank order; with a partial it may be empty
    bool finish = true;                    // out is of dtype; false: out is a partial
    void *out = nullptr;                   // may be exactly any of the sources, or the partial
    std::span<void *const> more_outs;      // get the same result
    size_t count = 0;
    StoreHint store = StoreHint::Cached, more_store = StoreHint::Cached;  // to out, to more_outs
};

void reduce(const Reduction &work);

// memcpy with a choice of stores.
void copy(void *out, const void *in, size_t bytes, StoreHint store);

}  // namespace ringrt
