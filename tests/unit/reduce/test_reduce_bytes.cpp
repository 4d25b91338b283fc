// SPDX-License-Identifier: BSD-3-Clause
// The one-byte types: every value, and every pair of values, against plain arithmetic.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "libringrt/reduce/elements.h"
#include "libringrt/reduce/order.h"
#include "libringrt/reduce/reduce.h"
#include "tests/support/check.h"

using namespace ringrt;

namespace {

constexpr ringrt_op_t kOps[] = {RINGRT_SUM, RINGRT_AVG, RINGRT_MIN, RINGRT_MAX, RINGRT_PROD};

using Bytes = std::vector<uint8_t>;

// All 65,536 pairs of bytes, reduced.
Bytes reduced_pairs(ringrt_dtype_t dtype, ringrt_op_t op) {
    Bytes first(65536), second(65536), out(65536);
    for (size_t i = 0; i < first.size(); ++i)
        first[i] = static_cast<uint8_t>(i), second[i] = static_cast<uint8_t>(i >> 8);
    const std::vector<const void *> sources{first.data(), second.data()};
    reduce({.dtype = dtype,
            .op = op,
            .ranks = 2,
            .sources = sources,
            .out = out.data(),
            .count = out.size()});
    return out;
}

void expect_pairs(ringrt_dtype_t dtype, ringrt_op_t op,
                  const std::function<uint8_t(uint8_t, uint8_t)> &right) {
    const Bytes out = reduced_pairs(dtype, op);
    for (size_t i = 0; i < out.size(); ++i) {
        const auto a = static_cast<uint8_t>(i), b = static_cast<uint8_t>(i >> 8);
        ck_assert_msg(out[i] == right(a, b), "%s op %d of %d and %d: %d instead of %d",
                      dtype_of(dtype)->name.data(), op, a, b, out[i], right(a, b));
    }
}

template <class Number>
uint8_t plain(ringrt_op_t op, uint8_t a, uint8_t b) {
    const auto x = static_cast<Number>(a), y = static_cast<Number>(b);
    switch (op) {
        case RINGRT_SUM:
            return static_cast<uint8_t>(x + y);
        case RINGRT_AVG:
            return static_cast<uint8_t>(static_cast<Number>(x + y) / 2);
        case RINGRT_MIN:
            return static_cast<uint8_t>(std::min(x, y));
        case RINGRT_MAX:
            return static_cast<uint8_t>(std::max(x, y));
        case RINGRT_PROD:
            break;
    }
    return static_cast<uint8_t>(x * y);
}

// A format by its definition: sign, exponent and mantissa.
struct Format {
    ringrt_dtype_t dtype;
    int mantissa, bias;
    uint8_t largest, beyond;  // the largest number, and the result beyond it

    [[nodiscard]] double value(int bits) const {
        const int magnitude = bits & 0x7f, exponent = magnitude >> mantissa,
                  fraction = magnitude & ((1 << mantissa) - 1);
        if (magnitude > largest)
            return beyond == 0x7f || magnitude > beyond ? NAN : std::copysign(INFINITY, sign(bits));
        const double part = std::ldexp(fraction, -mantissa);
        return sign(bits) *
               (exponent == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, exponent - bias));
    }
    static double sign(int bits) { return bits & 0x80 ? -1.0 : 1.0; }

    // The nearest number, by exhaustive search. A tie goes to the even last bit, as if one more
    // number followed the largest.
    [[nodiscard]] int nearest(double x) const {
        int best = 0;
        const double magnitude = std::fabs(x);
        for (int bits = 0; bits <= largest + 1; ++bits) {
            const double each =
                bits <= largest ? value(bits) : 2 * value(largest) - value(largest - 1);
            const double before =
                best <= largest ? value(best) : 2 * value(largest) - value(largest - 1);
            const double closer = std::fabs(before - magnitude) - std::fabs(each - magnitude);
            if (closer > 0 || (closer == 0 && bits % 2 == 0)) best = bits;
        }
        if (best > largest) best = beyond;
        return best | (std::signbit(x) ? 0x80 : 0);
    }
};

constexpr Format kFormats[] = {{RINGRT_FLOAT8_E4M3, 3, 7, 0x7e, 0x7f},
                               {RINGRT_FLOAT8_E5M2, 2, 15, 0x7b, 0x7c}};

uint8_t narrow(const Format &format, float x) {
    return format.dtype == RINGRT_FLOAT8_E4M3 ? detail::float_to_e4m3(x) : detail::float_to_e5m2(x);
}
float widen(const Format &format, int bits) {
    const auto byte = static_cast<uint8_t>(bits);
    return format.dtype == RINGRT_FLOAT8_E4M3 ? detail::e4m3_to_float(byte)
                                              : detail::e5m2_to_float(byte);
}

}  // namespace

TEST(integers_of_one_byte_wrap_around) {
    for (const ringrt_op_t op : kOps) {
        expect_pairs(RINGRT_UINT8, op,
                     [&](uint8_t a, uint8_t b) { return plain<uint8_t>(op, a, b); });
        expect_pairs(RINGRT_INT8, op,
                     [&](uint8_t a, uint8_t b) { return plain<int8_t>(op, a, b); });
    }
}

TEST(truth_is_any_byte_but_0_and_becomes_1) {
    for (const ringrt_op_t op : {RINGRT_SUM, RINGRT_MAX})
        expect_pairs(RINGRT_BOOL, op, [](uint8_t a, uint8_t b) -> uint8_t { return a || b; });
    for (const ringrt_op_t op : {RINGRT_PROD, RINGRT_MIN})
        expect_pairs(RINGRT_BOOL, op, [](uint8_t a, uint8_t b) -> uint8_t { return a && b; });
    ck_assert(!can_reduce(RINGRT_BOOL, RINGRT_AVG));
}

// A byte cannot hold 200: the sum is divided as a number.
TEST(an_average_over_200_ranks) {
    const int8_t value = 1;
    const std::vector<const void *> sources(100, &value);  // 100 of 200: the sum is 100
    int8_t out = 77;
    reduce({.dtype = RINGRT_INT8,
            .op = RINGRT_AVG,
            .ranks = 200,
            .sources = sources,
            .out = &out,
            .count = 1});
    ck_assert_int_eq(out, 0);
    reduce({.dtype = RINGRT_INT8,
            .op = RINGRT_AVG,
            .ranks = 50,
            .sources = sources,
            .out = &out,
            .count = 1});
    ck_assert_int_eq(out, 2);
}

TEST(every_8_bit_float_matches_its_format) {
    for (const Format &format : kFormats)
        for (int bits = 0; bits < 256; ++bits) {
            const double right = format.value(bits);
            const float wide = widen(format, bits);
            ck_assert_msg(std::isnan(right) ? std::isnan(wide) : double(wide) == right,
                          "%02x is %g instead of %g", bits, double(wide), right);
            ck_assert(std::isnan(right) || std::signbit(wide) == (bits >= 0x80));
            if (!std::isnan(right)) ck_assert_int_eq(narrow(format, wide), bits);
        }
}

// At every number, halfway between two, and one float to either side.
TEST(a_float_is_rounded_to_the_nearest_8_bit_float) {
    for (const Format &format : kFormats) {
        for (int bits = 0; bits <= format.largest; ++bits) {
            const float low = widen(format, bits);
            const float high = bits < format.largest ? widen(format, bits + 1) : 2 * low;
            const float step = bits < format.largest ? high - low : low - widen(format, bits - 1);
            for (const float at : {low, low + step / 2, low + step}) {
                const float least = std::numeric_limits<float>::denorm_min();
                for (const float x : {at, std::nextafter(at, -least), std::nextafter(at, INFINITY)})
                    for (const float each : {x, -x})
                        ck_assert_msg(narrow(format, each) == format.nearest(each),
                                      "%g becomes %02x instead of %02x", double(each),
                                      narrow(format, each), format.nearest(each));
            }
        }
        ck_assert_int_eq(narrow(format, INFINITY), format.beyond);
        ck_assert_int_eq(narrow(format, -1e30F), format.beyond | 0x80);
        ck_assert(std::isnan(widen(format, narrow(format, NAN))));
    }
}

// Computed in float32 and rounded once.
TEST(pairs_of_8_bit_floats) {
    for (const Format &format : kFormats)
        for (const ringrt_op_t op : kOps) {
            const Bytes out = reduced_pairs(format.dtype, op);
            for (size_t i = 0; i < out.size(); ++i) {
                const float x = widen(format, int(i & 255)), y = widen(format, int(i >> 8));
                if (std::isnan(x) || std::isnan(y)) {
                    ck_assert(std::isnan(widen(format, out[i])));
                    continue;
                }
                const float right = op == RINGRT_SUM   ? x + y
                                    : op == RINGRT_AVG ? (x + y) / 2
                                    : op == RINGRT_MIN ? (y < x ? y : x)
                                    : op == RINGRT_MAX ? (y > x ? y : x)
                                                       : x * y;
                const uint8_t rounded = narrow(format, right);
                const bool both_nan =
                    std::isnan(widen(format, rounded)) && std::isnan(widen(format, out[i]));
                ck_assert_msg(both_nan || out[i] == rounded, "op %d of %g and %g: %02x", op,
                              double(x), double(y), out[i]);
            }
        }
}

// Ranks pass partial sums as float32 for the 8-bit floats, and as the type itself for the others.
TEST(a_partial_sum_of_bytes_continues_where_it_ended) {
    for (const ringrt_dtype_t dtype :
         {RINGRT_UINT8, RINGRT_INT8, RINGRT_BOOL, RINGRT_FLOAT8_E4M3, RINGRT_FLOAT8_E5M2})
        for (const ringrt_op_t op : kOps) {
            if (!can_reduce(dtype, op)) continue;
            constexpr size_t kCount = 5000;
            std::vector<Bytes> data(5, Bytes(kCount));
            for (size_t k = 0; k < data.size(); ++k)
                for (size_t i = 0; i < kCount; ++i)
                    data[k][i] = static_cast<uint8_t>((i * 37 + k * 101) & 0xb7);  // finite
            std::vector<const void *> sources;
            for (const Bytes &each : data) sources.push_back(each.data());
            const std::span<const void *const> all(sources);
            Bytes whole(kCount), parts(kCount);
            std::vector<std::byte> partial(kCount * partial_bytes(dtype));
            reduce({.dtype = dtype,
                    .op = op,
                    .ranks = 5,
                    .sources = all,
                    .out = whole.data(),
                    .count = kCount});
            for (size_t first = 1; first <= all.size(); ++first) {
                reduce({.dtype = dtype,
                        .op = op,
                        .ranks = 5,
                        .sources = all.first(first),
                        .finish = false,
                        .out = partial.data(),
                        .count = kCount});
                reduce({.dtype = dtype,
                        .op = op,
                        .ranks = 5,
                        .partial = partial.data(),
                        .sources = all.subspan(first),
                        .out = parts.data(),
                        .count = kCount});
                ck_assert(parts == whole);
            }
        }
}

int main() { return ringrt::test::run_all("reduce_bytes"); }
