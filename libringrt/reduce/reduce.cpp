// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/reduce/reduce.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The loops below are what the whole library is fast or slow by, whatever else is compiled how.
#if defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace ringrt {
namespace detail {

struct __attribute__((packed, may_alias)) Half {
    uint16_t bits;
};
struct __attribute__((packed, may_alias)) Brain {
    uint16_t bits;
};

// The type as it may lie anywhere in the caller's memory.
template <class T>
struct Loose {
    using type = T;  // of Half and Brain, which may lie anywhere by themselves
};
#define RINGRT_LOOSE(T)                                        \
    template <>                                                \
    struct Loose<T> {                                          \
        typedef T type __attribute__((aligned(1), may_alias)); \
    }
RINGRT_LOOSE(float);
RINGRT_LOOSE(double);
RINGRT_LOOSE(int32_t);
RINGRT_LOOSE(int64_t);
#undef RINGRT_LOOSE

float half_to_float(uint16_t half) {
    uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = half >> 10 & 31,
             mantissa = half & 1023;
    if (exponent == 31) {
        uint32_t quiet = mantissa == 0 ? 0 : 0x400000;
        return std::bit_cast<float>(sign | 0x7f800000 | quiet | mantissa << 13);
    }
    if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24
        float magnitude = float(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

// To nearest, ties to even, as the hardware does it.
uint16_t float_to_half(float x) {
    uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 16 & 0x8000,
             magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);  // rounds beyond 65504
    if (magnitude < 0x38800000) {  // subnormal: adding 0.5 rounds to multiples of 2^-24
        float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return uint16_t(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
    }
    uint32_t rounded = magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1);
    return uint16_t(sign | rounded >> 13);
}

}  // namespace detail

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
    const char *wish = getenv("RINGRT_SIMD");
    std::string_view most = wish == nullptr ? "avx512" : wish;
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
    bool narrow = dtype == RINGRT_FLOAT16 || dtype == RINGRT_BFLOAT16;
    return narrow ? sizeof(float) : dtype_bytes(dtype);
}

bool can_reduce(ringrt_dtype_t dtype, ringrt_op_t op) {
    const Dtype *known = dtype_of(dtype);
    return known && known->arithmetic && op >= RINGRT_SUM && op <= RINGRT_PROD;
}

void reduce(const Reduction &work) {
    if (work.count > 0) level().reduce(work);
}

void copy(void *out, const void *in, size_t bytes, StoreHint store) {
    if (bytes > 0 && out != in) level().copy(out, in, bytes, store);
}

}  // namespace ringrt
