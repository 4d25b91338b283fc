// SPDX-License-Identifier: BSD-3-Clause
// Finds policies and parameters by name. A new policy changes nothing here: the table is made from
// the list in policies.mk.
#include <algorithm>
#include <numeric>

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

// RINGRT_POLICIES(X) expands to X(doubling) and so on, from policies.mk.
#define DECLARE(file) extern const PolicyList file##_policies;
RINGRT_POLICIES(DECLARE)

// A function-local static: the plugin runs no constructor at load time.
PolicyList policies() {
    static const std::vector<Policy> all = [] {
        std::vector<Policy> out;
#define APPEND(file) out.insert(out.end(), file##_policies.begin(), file##_policies.end());
        RINGRT_POLICIES(APPEND)
        return out;
    }();
    return all;
}

const Policy *find_policy(std::string_view name) {
    const auto found = std::ranges::find(policies(), name, &Policy::name);
    return found == policies().end() ? nullptr : &*found;
}

const Param *find_param(std::string_view name) {
    for (const Policy &policy : policies())
        for (const Param &param : policy.params)
            if (param.name == name) return &param;
    return nullptr;
}

int total_gpus(const Capacity &capacity) {
    return std::accumulate(capacity.node_gpus.begin(), capacity.node_gpus.end(), 0,
                           [](int sum, int gpus) { return sum + std::max(0, gpus); });
}

}  // namespace ringrt::policy
