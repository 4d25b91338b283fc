// SPDX-License-Identifier: BSD-3-Clause
// reduce and copy alone: all sizes and alignments against plain loops, and the same bits from every
// instruction set.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "libringrt/reduce/reduce.h"
#include "tests/support/check.h"

using namespace ringrt;

namespace {

constexpr ringrt_dtype_t kTypes[] = {
    RINGRT_FLOAT32,     RINGRT_FLOAT64, RINGRT_FLOAT16, RINGRT_BFLOAT16, RINGRT_INT32,
    RINGRT_INT64,       RINGRT_UINT8,   RINGRT_INT8,    RINGRT_BOOL,     RINGRT_FLOAT8_E4M3,
    RINGRT_FLOAT8_E5M2, RINGRT_UINT32,  RINGRT_UINT64};
constexpr ringrt_op_t kOps[] = {RINGRT_SUM, RINGRT_AVG, RINGRT_MIN, RINGRT_MAX, RINGRT_PROD};
constexpr int kSourcesMost = 6;
constexpr size_t kCount = 2500;  // more than a tile of each type, and not a multiple of any vector
constexpr size_t kGuard = 64;

// Arbitrary bits: the 16-bit floats include all NaNs, infinities and denormals.
std::vector<unsigned char> random_bytes(size_t bytes, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<unsigned char> out(bytes);
    for (unsigned char &byte : out) byte = static_cast<unsigned char>(random());
    return out;
}

// Which of two NaNs results is unspecified (reduce.h), so one stands for all.
template <class Bits>
void one_nan(unsigned char *data, size_t count, Bits infinity) {
    for (size_t i = 0; i < count; ++i) {
        Bits bits = 0;
        memcpy(&bits, data + i * sizeof bits, sizeof bits);
        const Bits magnitude = bits & static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
        if (magnitude > infinity) memset(data + i * sizeof bits, 0x7f, sizeof bits);
    }
}

void one_nan(ringrt_dtype_t dtype, unsigned char *data) {
    if (dtype == RINGRT_FLOAT32) one_nan<uint32_t>(data, kCount, 0x7f800000);
    if (dtype == RINGRT_FLOAT64) one_nan<uint64_t>(data, kCount, 0x7ff0000000000000);
    if (dtype == RINGRT_FLOAT16) one_nan<uint16_t>(data, kCount, 0x7c00);
    if (dtype == RINGRT_BFLOAT16) one_nan<uint16_t>(data, kCount, 0x7f80);
    if (dtype == RINGRT_FLOAT8_E4M3) one_nan<uint8_t>(data, kCount, 0x7e);
    if (dtype == RINGRT_FLOAT8_E5M2) one_nan<uint8_t>(data, kCount, 0x7c);
}

// Runs all reductions of all types, with results consecutive in `out`. Returns the bytes.
size_t reduce_all(unsigned char *out) {
    unsigned char *end = out;
    for (ringrt_dtype_t dtype : kTypes) {
        const size_t bytes = kCount * dtype_bytes(dtype);
        std::vector<std::vector<unsigned char>> data;
        for (int k = 0; k < kSourcesMost; ++k) data.push_back(random_bytes(bytes + 2, unsigned(k)));
        for (ringrt_op_t op : kOps) {
            if (!can_reduce(dtype, op)) continue;
            std::vector<const void *> sources;
            for (const auto &each : data) {
                sources.push_back(each.data() + sources.size() % 3);  // odd addresses as well
                for (StoreHint store : {StoreHint::Cached, StoreHint::NonTemporal}) {
                    reduce({.dtype = dtype,
                            .op = op,
                            .ranks = int(sources.size()),
                            .sources = sources,
                            .out = end,
                            .count = kCount,
                            .store = store});
                    one_nan(dtype, end);
                    end += bytes;
                }
            }
        }
    }
    return size_t(end - out);
}

// The output of reduce_all() in a process limited to `level`.
std::vector<unsigned char> reduces_at(const char *level) {
    constexpr size_t kRoom = size_t{64} << 20;
    void *shared = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(shared != MAP_FAILED);
    auto *bytes = static_cast<unsigned char *>(shared);
    const pid_t child = fork();
    if (child == 0) {
        setenv("RINGRT_SIMD", level, 1);
        const size_t used = reduce_all(bytes + sizeof(size_t));
        memcpy(bytes, &used, sizeof used);
        _exit(0);
    }
    int status = 0;
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
    size_t used = 0;
    memcpy(&used, bytes, sizeof used);
    std::vector<unsigned char> out(bytes + sizeof used, bytes + sizeof used + used);
    munmap(shared, kRoom);
    return out;
}

}  // namespace

TEST(a_copy_is_complete_and_writes_nothing_else) {
    constexpr size_t kSizes[] = {0, 1, 63, 64, 255, 256, 320, 2047, 2048, 2111, 2112, 4096, 70001};
    const std::vector<unsigned char> from = random_bytes(70001 + 64, 1);
    for (StoreHint store : {StoreHint::Cached, StoreHint::NonTemporal}) {
        for (size_t bytes : kSizes) {
            for (size_t shift = 0; shift < 130; ++shift) {
                std::vector<unsigned char> to(kGuard + 130 + bytes + kGuard, 0xa5);
                unsigned char *place = to.data() + kGuard + shift;
                const unsigned char *source = from.data() + shift * 7 % 64;
                copy(place, source, bytes, store);
                ck_assert(memcmp(place, source, bytes) == 0);
                memset(place, 0xa5, bytes);
                ck_assert(std::all_of(to.begin(), to.end(), [](int byte) { return byte == 0xa5; }));
            }
        }
    }
}

TEST(every_instruction_set_gives_the_same_bits) {
    const auto baseline = reduces_at("baseline");
    ck_assert_uint_gt(baseline.size(), 0);
    ck_assert(reduces_at("avx2") == baseline);
    ck_assert(reduces_at("avx512") == baseline);
}

TEST(sums_are_reduced_from_left_to_right) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> any(-1e6F, 1e6F);
    std::vector<std::vector<float>> data(kSourcesMost, std::vector<float>(kCount));
    for (auto &each : data)
        for (float &x : each) x = any(random);
    std::vector<const void *> sources;
    for (const auto &each : data) {
        sources.push_back(each.data());
        std::vector<float> out(kCount), more(kCount);
        void *others[] = {more.data()};
        reduce({.sources = sources, .out = out.data(), .more_outs = others, .count = kCount});
        ck_assert(out == more);
        for (size_t i = 0; i < kCount; ++i) {
            float expected = data[0][i];
            for (size_t k = 1; k < sources.size(); ++k) expected += data[k][i];
            ck_assert(out[i] == expected);
        }
    }
}

// By plain arithmetic; sums and products modulo 2^bits.
template <class Number>
Number folded(ringrt_op_t op, const std::vector<Number> &values) {
    using Modulo = std::make_unsigned_t<Number>;
    Number out = values[0];
    for (size_t k = 1; k < values.size(); ++k) {
        const Number x = values[k];
        if (op == RINGRT_SUM || op == RINGRT_AVG) out = Number(Modulo(out) + Modulo(x));
        if (op == RINGRT_PROD) out = Number(Modulo(out) * Modulo(x));
        if (op == RINGRT_MIN) out = std::min(out, x);
        if (op == RINGRT_MAX) out = std::max(out, x);
    }
    return op == RINGRT_AVG ? Number(out / Number(values.size())) : out;
}

// Arbitrary bits: half of the numbers have the highest bit, which tells the signed from the
// unsigned.
template <class Number>
void expect_folds(ringrt_dtype_t dtype, size_t ranks, size_t count) {
    std::vector<std::vector<unsigned char>> data;
    std::vector<const void *> sources;
    for (size_t k = 0; k < ranks; ++k)
        data.push_back(random_bytes(count * sizeof(Number) + 1, unsigned(k + count)));
    for (const auto &each : data) sources.push_back(each.data() + 1);
    std::vector<Number> out(count), values(ranks);
    for (const ringrt_op_t op : kOps) {
        reduce({.dtype = dtype,
                .op = op,
                .ranks = int(ranks),
                .sources = sources,
                .out = out.data(),
                .count = count});
        for (size_t i = 0; i < count; ++i) {
            for (size_t k = 0; k < ranks; ++k)
                memcpy(&values[k], data[k].data() + 1 + i * sizeof(Number), sizeof(Number));
            ck_assert_msg(out[i] == folded(op, values), "%s op %d of %zu at %zu of %zu",
                          dtype_of(dtype)->name.data(), op, ranks, i, count);
        }
    }
}

TEST(integers_with_and_without_a_sign) {
    for (const size_t count : {size_t{1}, size_t{7}, size_t{33}, kCount})
        for (size_t ranks = 1; ranks <= kSourcesMost; ++ranks) {
            expect_folds<int32_t>(RINGRT_INT32, ranks, count);
            expect_folds<int64_t>(RINGRT_INT64, ranks, count);
            expect_folds<uint32_t>(RINGRT_UINT32, ranks, count);
            expect_folds<uint64_t>(RINGRT_UINT64, ranks, count);
        }
}

// In place at each of the sources, and with an earlier partial result.
TEST(a_partial_sum_continues_where_it_ended) {
    std::mt19937 random(4);
    std::uniform_real_distribution<float> any(-1, 1);
    std::vector<std::vector<float>> data(4, std::vector<float>(kCount));
    for (auto &each : data)
        for (float &x : each) x = any(random);
    const std::vector<const void *> all{data[0].data(), data[1].data(), data[2].data(),
                                        data[3].data()};
    std::vector<float> whole(kCount), partial(kCount);
    reduce({.op = RINGRT_AVG, .ranks = 4, .sources = all, .out = whole.data(), .count = kCount});
    for (size_t first = 1; first <= all.size(); ++first) {
        const std::span<const void *const> sources(all);
        reduce({.op = RINGRT_AVG,
                .ranks = 4,
                .sources = sources.first(first),
                .finish = false,
                .out = partial.data(),
                .count = kCount});
        reduce({.op = RINGRT_AVG,
                .ranks = 4,
                .partial = partial.data(),
                .sources = sources.subspan(first),
                .out = partial.data(),
                .count = kCount});
        ck_assert(partial == whole);
    }
    reduce({.op = RINGRT_AVG, .ranks = 4, .sources = all, .out = data[2].data(), .count = kCount});
    ck_assert(data[2] == whole);
}

int main() { return ringrt::test::run_all("reduce"); }
