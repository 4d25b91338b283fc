// SPDX-License-Identifier: BSD-3-Clause
// The table of policies: a new one is a file of its own and a row here.
#include <algorithm>
#include <array>

#include "slurm_plugin/policy/doubling.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

namespace {

constexpr std::array kPolicies{
    Policy{"doubling", decide_doubling, GainRule::short_first,
           "our choice: doubling-short-first"},
    Policy{"doubling-absolute", decide_doubling, GainRule::absolute,
           "double whoever saves the most seconds per GPU (arXiv 1908.08082)"},
    Policy{"doubling-relative", decide_doubling, GainRule::relative,
           "grow whoever gains the most speed-up per GPU; needs no remaining time"},
    Policy{"doubling-short-first", decide_doubling, GainRule::short_first,
           "the most speed-up per GPU, short jobs somewhat before long ones"},
    Policy{"doubling-hull", decide_doubling, GainRule::hull,
           "absolute, over any 2^k at once: escapes a first doubling that loses"},
};

constexpr std::array<std::string_view, 11> kReasons{
    "none",         "at_max",        "best_gain",     "no_gain",         "no_capacity", "restart_cost",
    "gave_to_other", "gave_to_rigid", "keeps_for_rigid", "waits",         "pinned",
};

}  // namespace

std::span<const Policy> policies() { return kPolicies; }

const Policy *find_policy(std::string_view name) {
    const auto *found = std::find_if(kPolicies.begin(), kPolicies.end(),
                                     [name](const Policy &p) { return p.name == name; });
    return found == kPolicies.end() ? nullptr : found;
}

std::string_view to_string(Reason reason) { return kReasons[static_cast<std::size_t>(reason)]; }

}  // namespace ringrt::policy
