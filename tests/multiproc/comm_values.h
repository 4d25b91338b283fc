// SPDX-License-Identifier: BSD-3-Clause
// The data that ranks send each other in the communicator tests, in every type.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "libringrt/ringrt_comm.h"

namespace ringrt::test {

using Bytes = std::vector<std::byte>;

inline size_t bytes_of(ringrt_dtype_t dtype) {
    constexpr size_t kBytes[] = {4, 8, 2, 2, 4, 8, 1, 1, 1, 1, 1, 4, 8};
    return kBytes[dtype];
}

// Values are small integers, exact in every type.
template <typename Number>
void put(std::byte *at, Number value) {
    memcpy(at, &value, sizeof value);
}

inline uint16_t half_of(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (value == 0) return 0;
    const uint32_t sign = bits >> 31, exponent = (bits >> 23 & 255u) - 127 + 15;
    return static_cast<uint16_t>(sign << 15 | exponent << 10 | (bits >> 13 & 1023u));
}

inline void encode(std::byte *at, int64_t value, ringrt_dtype_t dtype) {
    const auto real = static_cast<float>(value);
    switch (dtype) {
        case RINGRT_FLOAT32:
            return put(at, real);
        case RINGRT_FLOAT64:
            return put(at, static_cast<double>(value));
        case RINGRT_FLOAT16:
            return put(at, half_of(real));
        case RINGRT_BFLOAT16:
            return put(at, static_cast<uint16_t>(std::bit_cast<uint32_t>(real) >> 16));
        case RINGRT_INT32:
        case RINGRT_UINT32:
            return put(at, static_cast<int32_t>(value));
        case RINGRT_INT64:
        case RINGRT_UINT64:
            return put(at, value);
        case RINGRT_UINT8:
        case RINGRT_INT8:
        case RINGRT_BOOL:
        case RINGRT_FLOAT8_E4M3:
        case RINGRT_FLOAT8_E5M2:
            return put(at, static_cast<uint8_t>(value));
    }
}

// Whether reduced() can predict the reduction of the values that encode() writes. test_collectives
// tests the other pairs of type and operation.
inline bool is_foretold(ringrt_dtype_t dtype, ringrt_op_t op) {
    if (dtype == RINGRT_UINT8 || dtype == RINGRT_UINT32 || dtype == RINGRT_UINT64)
        return op == RINGRT_SUM || op == RINGRT_PROD;  // modulo 2^bits
    if (dtype == RINGRT_INT8) return op != RINGRT_AVG;
    return dtype < RINGRT_UINT8;
}

// Products stay small, and means of up to 4 values are integers.
inline int64_t value_of(int rank, size_t i, ringrt_op_t op) {
    const size_t hash = (i * 2654435761u + static_cast<size_t>(rank) * 40503u) >> 7;
    if (op != RINGRT_PROD) return (static_cast<int64_t>(hash % 7) - 3) * 12;
    constexpr int64_t kFactors[] = {-2, -1, 1, 2};
    return kFactors[hash % 4];
}

inline int64_t reduced(int ranks, size_t i, ringrt_op_t op) {
    int64_t out = value_of(0, i, op);
    for (int r = 1; r < ranks; ++r) {
        const int64_t next = value_of(r, i, op);
        if (op == RINGRT_SUM || op == RINGRT_AVG) out += next;
        if (op == RINGRT_MIN) out = std::min(out, next);
        if (op == RINGRT_MAX) out = std::max(out, next);
        if (op == RINGRT_PROD) out *= next;
    }
    return op == RINGRT_AVG ? out / ranks : out;
}

template <typename Value>
Bytes made(size_t count, ringrt_dtype_t dtype, Value value) {
    Bytes out(count * bytes_of(dtype));
    for (size_t i = 0; i < count; ++i) encode(out.data() + i * bytes_of(dtype), value(i), dtype);
    return out;
}

}  // namespace ringrt::test
