// SPDX-License-Identifier: BSD-3-Clause
// A rank's share of a step's batch, a step's amount of work, and the order of samples. PURE.
#pragma once

#include <cstdint>

#include "libringrt/base/status.h"

namespace ringrt {

struct BatchRule {
    uint32_t global_batch = 0;     // samples per step at reference_size
    uint32_t reference_batch = 0;  // as configured; the unit in which work is counted
    uint32_t reference_size = 1;
    uint32_t micro_batch_max = 0;  // 0: no limit
    ringrt_batch_rule_t rule = RINGRT_FIXED_GLOBAL_BATCH;
};

// INVALID_ARGUMENT if no batch was configured.
Status check_batch(const BatchRule &rule);

// Samples of one step over all `size` ranks.
[[nodiscard]] uint64_t samples_per_step(const BatchRule &rule, int size);

// One step over `size` ranks, in reference steps of reference_batch samples. The scheduler gets
// speeds and remaining work in this unit, because one step may train more samples at one size than
// at another. 1 if no batch was configured: a step is a step.
[[nodiscard]] double reference_steps(const BatchRule &rule, int size);

// The share of `rank`; INVALID_ARGUMENT if no batch was configured.
Status share_of_batch(const BatchRule &rule, int rank, int size, uint64_t samples_seen,
                      ringrt_batch_t &out);

// The value at `position` of a permutation of 0 .. samples−1 selected by (seed, epoch): a Feistel
// network over the next power of two, repeated until the value is in range (Black and Rogaway,
// "Ciphers with arbitrary finite domains", CT-RSA 2002). Fewer than 2 rounds on average.
[[nodiscard]] uint64_t sample_at(uint64_t seed, uint64_t epoch, uint64_t samples,
                                 uint64_t position);

}  // namespace ringrt
