// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/lent_exclusions.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ringrt::controller {

// FNV-1a, 32 bits.
uint32_t checksum_of(const std::vector<int> &excluded, std::span<const NodeRecord> nodes) {
    constexpr uint32_t kBasis = 2166136261, kPrime = 16777619;
    std::vector<int> sorted = excluded;
    std::ranges::sort(sorted);
    uint32_t sum = kBasis;
    for (const int node : sorted) {
        if (node < 0 || static_cast<std::size_t>(node) >= nodes.size()) continue;
        for (const char c : nodes[static_cast<std::size_t>(node)].name + ',')
            sum = (sum ^ static_cast<unsigned char>(c)) * kPrime;
    }
    return excluded.empty() ? 0 : std::max<uint32_t>(1, sum);
}

void take_out_lent_list(JobRecord &record, std::span<const NodeRecord> nodes) {
    if (!record.intent || record.intent->exclusions_checksum == 0 || record.excluded_nodes.empty())
        return;
    if (checksum_of(record.excluded_nodes, nodes) != record.intent->exclusions_checksum) return;
    record.lent_exclusions = std::exchange(record.excluded_nodes, {});
}

}  // namespace ringrt::controller
