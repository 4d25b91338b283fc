// SPDX-License-Identifier: BSD-3-Clause
// reduce: out[i] = ((source0[i] op source1[i]) op source2[i]) op ..., strictly left to right.
//
// fp16, bf16 and fp8 are accumulated in fp32 and rounded once, to nearest even; integers wrap
// around. Of bool, sum and max are "or", product and min are "and". A min or max with a NaN is NaN.
// The average divides the reduced sum by the number of ranks (integers: towards zero). Results are
// the same bits on every processor (of a NaN only that it is one): SIMD only runs the same
// operations side by side. RINGRT_SIMD=baseline|avx2 lowers the instruction set that is chosen at
// run time.
#pragma once

#include <cstddef>
#include <span>

#include "libringrt/base/dtype.h"

namespace ringrt {

// Of what a partial reduction is kept in: fp32 for the short floats, else the type itself.
[[nodiscard]] size_t partial_bytes(ringrt_dtype_t dtype);
[[nodiscard]] bool can_reduce(ringrt_dtype_t dtype, ringrt_op_t op);  // bool has no average

// Plain stores keep the result in this core's cache; streaming stores go past it, which wins where
// another core holds the lines or where nobody here reads them soon.
enum class StoreHint { Cached, NonTemporal };

struct Reduction {
    ringrt_dtype_t dtype = RINGRT_FLOAT32;
    ringrt_op_t op = RINGRT_SUM;
    int ranks = 1;                         // divisor of the average
    const void *partial = nullptr;         // what was reduced before the first source, or null
    std::span<const void *const> sources;  // in rank order; with a partial it may be empty
    bool finish = true;                    // out is of dtype; false: out is a partial
    void *out = nullptr;                   // may be any of the sources, or the partial, exactly
    std::span<void *const> more_outs;      // the same again
    size_t count = 0;
    StoreHint store = StoreHint::Cached, more_store = StoreHint::Cached;  // to out, to more_outs
};

void reduce(const Reduction &work);

// memcpy with the choice of stores.
void copy(void *out, const void *in, size_t bytes, StoreHint store);

}  // namespace ringrt
