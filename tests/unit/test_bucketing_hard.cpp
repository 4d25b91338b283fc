// SPDX-License-Identifier: BSD-3-Clause
// predictive is at most 1 % slower than any other rule, on profiles made to be hard: a few points
// of each in "make check", all 54 networks of 240 of them with the argument "all" ("make
// check-grouping-hard").
#include <cstring>

#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"
#include "tests/support/check.h"
#include "tests/unit/hard_profiles.h"

using namespace ringrt::bucketing;

static bool all = false;

static std::vector<Network> networks() {
    std::vector<Network> out;
    for (double gbps : {1.0, 3.0, 5.0, 10.0, 25.0, 100.0}) {
        for (int ranks : {2, 8, 64}) {
            for (double alpha_us : {10.0, 100.0, 300.0}) out.push_back({gbps, alpha_us, ranks});
        }
    }
    return out;
}

static void expect_not_slower(const Profile &profile, const Network &network) {
    const Plan plan = predictive(profile, network);
    const auto fault = fault_of(plan, profile);
    ck_assert_msg(!fault, "%s: %s", profile.name.c_str(), fault ? fault->c_str() : "");
    const double ours = simulate(profile, network, plan).iteration_us;
    for (const Rule &rule : all_rules()) {
        const double other = simulate(profile, network, rule.plan(profile, network)).iteration_us;
        ck_assert_msg(ours <= 1.01 * other, "%s, %g Gb/s, %d ranks, %g us: %g, %s %g",
                      profile.name.c_str(), network.gbps, network.ranks, network.alpha_us, ours,
                      rule.name.data(), other);
    }
}

TEST(never_slower_on_profiles_made_to_be_hard) {
    const std::vector<Network> grid = networks();
    const uint32_t profiles = all ? 240 : 72;
    for (uint32_t seed = 0; seed < profiles; ++seed) {
        const Profile profile = ringrt::test::hard(seed);
        const size_t step = all ? 1 : 18;
        for (size_t i = all ? 0 : seed % step; i < grid.size(); i += step) {
            expect_not_slower(profile, grid[i]);
        }
    }
}

int main(int argc, char **argv) {
    all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    return ringrt::test::run_all("hard grouping profiles", all ? 1800 : 60);
}
