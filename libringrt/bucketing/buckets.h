// SPDX-License-Identifier: BSD-3-Clause
// Buckets of whole gradients in ready order. The gradient that fills a bucket closes it.
#pragma once

#include <cstdint>
#include <vector>

#include "libringrt/bucketing/profile.h"

namespace ringrt::bucketing {

// `order` is ready_order(profile). The first bucket closes at `first_bytes`, the others at `bytes`.
[[nodiscard]] std::vector<std::vector<uint32_t>> buckets_in_ready_order(
    const Profile &profile, const std::vector<uint32_t> &order, uint64_t first_bytes,
    uint64_t bytes);

}  // namespace ringrt::bucketing
