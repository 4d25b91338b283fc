// SPDX-License-Identifier: BSD-3-Clause
// In the baseline instruction set alone: 16 of the integers at a time, and the 8-bit floats are
// converted one by one in any set.
#include "libringrt/reduce/reduce_bytes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "libringrt/reduce/elements.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
#define ONE_BYTE 1
#define KERNELS one_byte
#include "libringrt/reduce/kernels.inc"

}  // namespace

void detail::reduce_bytes(const Reduction &work) { one_byte::reduce(work); }

}  // namespace ringrt
