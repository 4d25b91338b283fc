// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/reduce/reduce.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "libringrt/reduce/elements.h"
#include "libringrt/reduce/reduce_bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// These loops determine the library's speed, so they are optimized whatever the other flags are.
#if defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace ringrt {

namespace {

#if defined(__x86_64__)
#define VECTOR_BYTES 16
#else
#define VECTOR_BYTES 0
#endif
#define HALF_IN_HARDWARE 0
#define KERNELS baseline
#include "libringrt/reduce/kernels.inc"
#undef KERNELS
#undef HALF_IN_HARDWARE
#undef VECTOR_BYTES

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAVE_LEVELS 1
#define HALF_IN_HARDWARE 1
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#define VECTOR_BYTES 32
#define KERNELS avx2
#include "libringrt/reduce/kernels.inc"
#undef KERNELS
#undef VECTOR_BYTES
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#define VECTOR_BYTES 64
#define KERNELS avx512
#include "libringrt/reduce/kernels.inc"
#undef KERNELS
#undef VECTOR_BYTES
#pragma GCC pop_options
#undef HALF_IN_HARDWARE
#else
#define HAVE_LEVELS 0
#endif

struct Level {
    const char *name;
    void (*reduce)(const Reduction &);
    void (*copy)(void *, const void *, size_t, StoreHint);
};

Level choose_level() {
    Level chosen{"baseline", baseline::reduce, baseline::copy};
#if HAVE_LEVELS
    const char *requested = getenv("RINGRT_SIMD");
    std::string_view most = requested == nullptr ? "avx512" : requested;
    if (most == "baseline") return chosen;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
        chosen = {"avx2", avx2::reduce, avx2::copy};
    }
    if (most != "avx2" && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        chosen = {"avx512", avx512::reduce, avx512::copy};
    }
#endif
    return chosen;
}

const Level &level() {
    static const Level chosen = choose_level();
    return chosen;
}

}  // namespace

size_t partial_bytes(ringrt_dtype_t dtype) {
    const Dtype *known = dtype_of(dtype);
    return known && known->is_short_float ? sizeof(float) : dtype_bytes(dtype);
}

bool can_reduce(ringrt_dtype_t dtype, ringrt_op_t op) {
    const bool has_mean = dtype != RINGRT_BOOL || op != RINGRT_AVG;
    return dtype_of(dtype) && op >= RINGRT_SUM && op <= RINGRT_PROD && has_mean;
}

void reduce(const Reduction &work) {
    if (work.count == 0) return;
    dtype_bytes(work.dtype) == 1 ? detail::reduce_bytes(work) : level().reduce(work);
}

void copy(void *out, const void *in, size_t bytes, StoreHint store) {
    if (bytes > 0 && out != in) level().copy(out, in, bytes, store);
}

}  // namespace ringrt
