// SPDX-License-Identifier: BSD-3-Clause
// The rule `predictive` is slower than no other rule, on hard profiles and on networks on and off
// the grid of "ringplan grade", with rings and parameter servers. "make check" runs a few points of
// each. The argument "all" ("make check-grouping-hard") runs all 54 networks for 240 profiles.
#include <algorithm>
#include <cstring>

#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"
#include "tests/support/check.h"
#include "tests/unit/bucketing/hard_profiles.h"

using namespace ringrt::bucketing;

static bool all = false;
static constexpr double kNotSlower = 1.0002;  // smaller differences are not compared

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
        ck_assert_msg(ours <= kNotSlower * other, "%s, %g Gb/s, %d ranks%s, %g us: %.9g, %s %.9g",
                      profile.name.c_str(), network.gbps, network.ranks,
                      network.servers ? " and servers" : "", network.alpha_us, ours,
                      rule.name.data(), other);
    }
}

TEST(never_slower_on_hard_profiles) {
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

// Like real networks, at bandwidths, rings and latencies between the grid's.
TEST(never_slower_off_the_grid) {
    std::mt19937 random(19);
    for (int round = 0; round < (all ? 2000 : 60); ++round) {
        using ringrt::test::log_uniform, ringrt::test::uniform;
        Profile profile = ringrt::test::layered(
            10 + random() % 200, log_uniform(random, 1e6, 1e9), log_uniform(random, 1e4, 1e6),
            uniform(random, 0.98, 1.05), uniform(random, 0, 0.3), uniform(random, 0, 0.7));
        if (round % 2) profile = ringrt::test::anything(random);
        expect_not_slower(profile, {.gbps = log_uniform(random, 0.3, 200),
                                    .alpha_us = log_uniform(random, 1, 500),
                                    .ranks = 2 + static_cast<int>(random() % 30),
                                    .servers = round % 3 == 0});
    }
}

// A rule that skips plans by the number of their blocks skips none that is faster.
TEST(no_plan_is_faster_than_its_blocks_allow) {
    struct Timed {
        double iteration_us;
        Plan plan;
    };
    const std::vector<Network> grid = networks();
    for (uint32_t seed = 0; seed < 72; ++seed) {
        const Profile profile = ringrt::test::hard(seed);
        Network network = grid[seed * 7 % grid.size()];
        network.servers = seed % 3 == 0;
        std::vector<Timed> plans;
        for (const Rule &rule : all_rules()) {
            Plan plan = rule.plan(profile, network);
            plans.push_back({simulate(profile, network, plan).iteration_us, std::move(plan)});
        }
        std::ranges::sort(plans, {}, &Timed::iteration_us);
        BestPlan best(profile, network);
        ck_assert(best.can_improve(1'000'000));  // nothing was offered
        best.offer(plans.back().plan);
        for (const Timed &faster : plans) {
            if (faster.iteration_us >= plans.back().iteration_us * (1 - 1e-6)) break;
            const auto reduces = [](const Block &b) { return b.phase != Phase::all_gather; };
            const auto blocks = std::ranges::count_if(faster.plan.blocks, reduces);
            ck_assert_msg(best.can_improve(static_cast<uint64_t>(blocks)), "%s, %g Gb/s: %zd",
                          profile.name.c_str(), network.gbps, blocks);
        }
    }
}

int main(int argc, char **argv) {
    all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    return ringrt::test::run_all("hard grouping profiles", all ? 1800 : 60);
}
