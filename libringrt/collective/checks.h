// SPDX-License-Identifier: BSD-3-Clause
// Argument checks of collectives, done before an operation begins: RINGRT_INVALID_ARGUMENT has no
// effect on the ranks.
#pragma once

#include <cstdint>

#include "libringrt/base/status.h"
#include "libringrt/reduce/reduce.h"
#include "libringrt/schedule/ranges.h"

namespace ringrt {

inline Status check_started(bool started) {
    if (started) return {};
    return {RINGRT_INVALID_ARGUMENT, "start() has not succeeded"};
}

inline Status check_reduce(ringrt_dtype_t dtype, ringrt_op_t op) {
    if (can_reduce(dtype, op)) return {};
    return {RINGRT_INVALID_ARGUMENT,
            "no such sum: dtype or op is not one of ringrt.h, or it is the average of bool"};
}

// `each` is the bytes of one element, above 0; checks that count · each fits in memory.
inline Status check_count(size_t count, size_t each) {
    if (count <= size_t(PTRDIFF_MAX) / each) return {};
    return {RINGRT_INVALID_ARGUMENT, "a count is larger than any memory"};
}

inline constexpr size_t kApart = SIZE_MAX;

// Of the send and receive buffer, in any order. `in_place` is the only offset in the second one at
// which the first may begin if they overlap; kApart: they may not overlap.
inline Status check_buffers(const void *one, size_t one_bytes, const void *other,
                            size_t other_bytes, size_t in_place) {
    if ((one == nullptr && one_bytes > 0) || (other == nullptr && other_bytes > 0))
        return {RINGRT_INVALID_ARGUMENT, "send or recv is NULL"};
    if (one_bytes == 0 || other_bytes == 0) return {};
    auto a = reinterpret_cast<uintptr_t>(one), b = reinterpret_cast<uintptr_t>(other);
    if (a + one_bytes <= b || b + other_bytes <= a) return {};
    if (in_place != kApart && a == b + in_place) return {};
    return {RINGRT_INVALID_ARGUMENT, in_place != kApart
                                         ? "send and recv overlap other than in place"
                                         : "send and recv may not overlap"};
}

inline Status check_ranges(const Ranges &ranges, size_t bytes) {
    if (ranges.bytes() == bytes) return {};
    return {RINGRT_INVALID_ARGUMENT,
            format_text("the ranges hold %zu bytes instead of %zu", ranges.bytes(), bytes)};
}

}  // namespace ringrt
