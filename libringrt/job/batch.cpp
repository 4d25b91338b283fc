// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/job/batch.h"

#include <algorithm>
#include <bit>

namespace ringrt {
namespace {

// Where rank's share begins: shares differ by at most one sample.
uint64_t share_begin(uint64_t global, int rank, int size) {
    uint64_t p = static_cast<uint64_t>(size), r = static_cast<uint64_t>(rank);
    return global / p * r + std::min(r, global % p);
}

// splitmix64's finalizer (Steele, Lea, Flood, OOPSLA 2014).
uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

// A permutation of 0 .. 2^bits − 1: each round changes one half by a function of the other.
uint64_t feistel(uint64_t value, int bits, uint64_t key) {
    const int low_bits = bits / 2;
    const uint64_t low_mask = (uint64_t{1} << low_bits) - 1;
    const uint64_t high_mask = (uint64_t{1} << (bits - low_bits)) - 1;
    uint64_t low = value & low_mask, high = value >> low_bits;
    for (uint64_t round = 0; round < 4; ++round) {
        high ^= mix(key ^ mix(low ^ round << 56)) & high_mask;
        low ^= mix(key ^ mix(high ^ (round + 128) << 56)) & low_mask;
    }
    return high << low_bits | low;
}

Status no_batch() {
    return {RINGRT_INVALID_ARGUMENT, "no batch configured: set global_batch in the config"};
}

}  // namespace

Status check_batch(const BatchRule &rule) {
    return rule.reference_batch > 0 ? Status{} : no_batch();
}

uint64_t samples_per_step(const BatchRule &rule, int size) {
    if (rule.rule == RINGRT_FIXED_GLOBAL_BATCH) return rule.global_batch;
    return uint64_t{rule.global_batch} * static_cast<uint64_t>(size) / rule.reference_size;
}

double reference_steps(const BatchRule &rule, int size) {
    const auto samples = static_cast<double>(samples_per_step(rule, size));
    return rule.reference_batch > 0 && samples > 0 ? samples / rule.reference_batch : 1;
}

Status share_of_batch(const BatchRule &rule, int rank, int size, uint64_t samples_seen,
                      ringrt_batch_t &out) {
    const uint64_t global = samples_per_step(rule, size);
    if (global == 0) return no_batch();
    const uint64_t first = share_begin(global, rank, size);
    const uint64_t largest =
        share_begin(global, 1, size);  // rank 0's, so that all ranks have the same number of passes
    const uint64_t pass =
        rule.micro_batch_max ? rule.micro_batch_max : std::max<uint64_t>(largest, 1);
    out = {.global = global,
           .first = first,
           .count = share_begin(global, rank + 1, size) - first,
           .samples_seen = samples_seen,
           .lr_scale = rule.rule == RINGRT_FIXED_GLOBAL_BATCH
                           ? 1.0
                           : static_cast<double>(size) / rule.reference_size,
           .micro_steps = static_cast<uint32_t>(std::max<uint64_t>((largest + pass - 1) / pass, 1)),
           .reserved = {}};
    return {};
}

uint64_t sample_at(uint64_t seed, uint64_t epoch, uint64_t samples, uint64_t position) {
    if (samples < 2) return 0;
    const int bits = std::bit_width(samples - 1);
    const uint64_t key = mix(seed ^ mix(epoch));
    uint64_t value = position % samples;
    do value = feistel(value, bits, key);
    while (value >= samples);
    return value;
}

}  // namespace ringrt
