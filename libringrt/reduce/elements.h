// SPDX-License-Identifier: BSD-3-Clause
// Element types that C++ lacks, and their conversions to and from float. A conversion to a narrower
// type rounds to nearest, ties to even, like the hardware.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ringrt::detail {

struct __attribute__((packed, may_alias)) Half {
    uint16_t bits;
};
struct __attribute__((packed, may_alias)) Brain {
    uint16_t bits;
};
// The 8-bit floats of OCP's "8-bit Floating Point Specification" 1.0. E4M3 has no infinity: its
// largest value is 448, and what is larger becomes NaN. E5M2 is a shortened fp16.
struct __attribute__((packed, may_alias)) E4m3 {
    uint8_t bits;
};
struct __attribute__((packed, may_alias)) E5m2 {
    uint8_t bits;
};
struct __attribute__((packed, may_alias)) Bool {
    uint8_t bits;  // any value but 0 is true
};

// The type with an alignment of 1, for any place in the caller's memory. The structures above have
// it already.
template <class T>
struct Loose {
    using type = T;
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
RINGRT_LOOSE(uint32_t);
RINGRT_LOOSE(uint64_t);
#undef RINGRT_LOOSE

inline float half_to_float(uint16_t half) {
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

inline uint16_t float_to_half(float x) {
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

// An 8-bit float with so many bits of mantissa; kTop: what is beyond the largest value becomes.
template <int kMantissa, int kBias, uint32_t kTop>
uint8_t float_to_fp8(float x) {
    constexpr int kDropped = 23 - kMantissa;
    constexpr uint32_t kLeastNormal = uint32_t(128 - kBias) << 23;
    // Adding this rounds to multiples of the least subnormal, 2^(1 - kBias - kMantissa).
    constexpr float kShift = std::bit_cast<float>(uint32_t(127 + 24 - kBias - kMantissa) << 23);
    const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 24 & 0x80,
                   magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return uint8_t(sign | 0x7f);
    uint32_t rounded = 0;
    if (magnitude < kLeastNormal) {
        const float shifted = std::bit_cast<float>(magnitude) + kShift;
        rounded = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kShift);
    } else {
        const uint32_t half = (1u << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1);
        rounded = (magnitude - (uint32_t(127 - kBias) << 23) + half) >> kDropped;
    }
    return uint8_t(sign | std::min(rounded, kTop));
}

inline uint8_t float_to_e4m3(float x) { return float_to_fp8<3, 7, 0x7f>(x); }
inline uint8_t float_to_e5m2(float x) { return float_to_fp8<2, 15, 0x7c>(x); }

inline float e5m2_to_float(uint8_t bits) { return half_to_float(uint16_t(bits << 8)); }
inline float e4m3_to_float(uint8_t bits) {
    const uint32_t sign = uint32_t(bits & 0x80) << 24, magnitude = bits & 0x7fu;
    if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
    const float value = magnitude < 8 ? float(magnitude) * 0x1p-9f
                                      : std::bit_cast<float>((magnitude + (120 << 3)) << 20);
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

}  // namespace ringrt::detail
