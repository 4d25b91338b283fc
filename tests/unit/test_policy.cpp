// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/check.h"

#include "slurm_plugin/policy/policy.h"

using namespace ringrt::policy;

TEST(policies_are_found_by_name) {
    ck_assert(find_policy("doubling") != nullptr);
    ck_assert(find_policy("no such") == nullptr);
}

int main() { return ringrt::test::run_all("policy", {policies_are_found_by_name}); }
