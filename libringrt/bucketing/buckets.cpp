// SPDX-License-Identifier: BSD-3-Clause
#include "libringrt/bucketing/buckets.h"

namespace ringrt::bucketing {

std::vector<std::vector<uint32_t>> buckets_in_ready_order(const Profile &profile,
                                                          const std::vector<uint32_t> &order,
                                                          uint64_t first_bytes, uint64_t bytes) {
    std::vector<std::vector<uint32_t>> buckets;
    uint64_t filled = 0, limit = first_bytes;
    bool open = false;
    for (uint32_t id : order) {
        if (!open) buckets.emplace_back();
        buckets.back().push_back(id);
        filled += profile.gradients[id].bytes;
        open = filled < limit;
        if (open) continue;
        filled = 0;
        limit = bytes;
    }
    return buckets;
}

}  // namespace ringrt::bucketing
