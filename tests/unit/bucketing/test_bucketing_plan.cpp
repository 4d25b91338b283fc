// SPDX-License-Identifier: BSD-3-Clause
// The invariants of every rule's plans, on profiles like real networks and unlike any.
#include <random>

#include "libringrt/bucketing/bound.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/slots.h"
#include "libringrt/bucketing/timeline.h"
#include "tests/support/check.h"
#include "tests/unit/bucketing/bucketing_profiles.h"

using namespace ringrt::bucketing;
using ringrt::test::anything;
using ringrt::test::layered;
using ringrt::test::log_uniform;

static Network any_network(std::mt19937 &random) {
    return {log_uniform(random, 0.1, 400), log_uniform(random, 0.1, 1000),
            1 + static_cast<int>(random() % 70)};
}

static std::vector<double> starts(const Timeline &timeline) {
    std::vector<double> out;
    for (const Span &span : timeline.blocks) out.push_back(span.start_us);
    return out;
}

static void expect_sound(const Rule &rule, const Profile &profile, const Network &network) {
    const Plan plan = rule.plan(profile, network);
    const auto fault = fault_of(plan, profile);
    ck_assert_msg(!fault, "%s: %s", rule.name.data(), fault ? fault->c_str() : "");
    ck_assert_msg(plan == rule.plan(profile, network), "%s: another plan", rule.name.data());
    const Timeline timeline = simulate(profile, network, plan);
    const Bound bound = bound_of(profile, network);
    ck_assert_msg(timeline.iteration_us >= bound.with_alpha_us * (1 - 1e-9) - 1e-6,
                  "%s: %g beats the bound %g", rule.name.data(), timeline.iteration_us,
                  bound.with_alpha_us);
    ck_assert(bound.fluid_us <= bound.with_alpha_us);
    double sent = static_cast<double>(total_bytes(profile));
    if (!network.servers) sent *= 2.0 * (network.ranks - 1) / network.ranks;
    ck_assert_double_eq_tol(timeline.sent_bytes, sent, 1 + sent * 1e-9);
}

TEST(every_byte_is_sent_once_by_every_rule) {
    std::mt19937 random(4);
    for (int round = 0; round < 150; ++round) {
        const Profile profile = anything(random);
        Network network = any_network(random);
        network.servers = round % 3 == 0;
        for (const Rule &rule : all_rules()) expect_sound(rule, profile, network);
    }
}

TEST(one_gradient_of_one_byte_or_of_4_gb) {
    for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{4'000'000'000}, kMaxGradientBytes}) {
        const Profile profile{"", {{"only", bytes, 100, 1000}}};
        for (double gbps : {1.0, 100.0}) {
            for (const Rule &rule : all_rules()) expect_sound(rule, profile, {gbps, 100, 8});
        }
    }
    expect_sound(*find_rule("predictive"), Profile{}, {10, 100, 8});
}

TEST(any_subset_of_the_gradients) {
    std::mt19937 random(5);
    const Profile whole = layered(160, 100e6, 250e3, 1.02, 0, 0.1);
    for (int round = 0; round < 60; ++round) {
        Profile part = whole;
        for (Gradient &gradient : part.gradients) {
            if (random() % 2) gradient.bytes = 0;
        }
        for (const Rule &rule : all_rules()) expect_sound(rule, part, {10, 100, 8});
    }
}

// Only for the rule's own plans: if `predictive` takes another rule's faster plan, that plan's
// order applies.
TEST(priority_is_never_violated) {
    std::mt19937 random(6);
    int own = 0;
    for (int round = 0; round < 150; ++round) {
        const Profile profile = round % 3
                                    ? anything(random)
                                    : layered(20 + random() % 200, log_uniform(random, 1e6, 1e9),
                                              log_uniform(random, 1e4, 1e6), 1.01, 0.1, 0.1);
        const Network network = any_network(random);
        const Plan plan = predictive(profile, network);
        const auto same = [&](const Rule &rule) {
            return rule.plan != predictive && rule.plan(profile, network) == plan;
        };
        if (std::ranges::any_of(all_rules(), same)) continue;
        ++own;
        const auto fault =
            priority_fault_of(plan, profile, starts(simulate(profile, network, plan)),
                              coarsen(profile).grain_us + 1e-6);
        ck_assert_msg(!fault, "%s", fault ? fault->c_str() : "");
    }
    ck_assert_int_ge(own, 75);
}

// The check used above finds a violation.
TEST(a_violation_is_found) {
    const Profile profile{"", {{"", 8, 1, 10}, {"", 8, 1, 5}}};
    const Plan late{.blocks = {whole_block(profile, Phase::allreduce, {1}),
                               whole_block(profile, Phase::allreduce, {0})}};
    ck_assert(!priority_fault_of(late, profile, {5, 10}));
    EXPECT_TEXT(priority_fault_of(late, profile, {11, 20}).value_or(""),
                "block 0, gradient 1, bytes 0+8: goes before gradient 0");
    Plan order{.blocks = {whole_block(profile, Phase::reduce_scatter, {1, 0}),
                          whole_block(profile, Phase::all_gather, {1}),
                          whole_block(profile, Phase::all_gather, {0})}};
    EXPECT_TEXT(priority_fault_of(order, profile, {10, 20, 30}).value_or(""),
                "block 1, gradient 1, bytes 0+8: goes before gradient 0");
    ck_assert(!fault_of(order, profile));
}

TEST(faulty_plans_are_found) {
    const Profile profile{"", {{"", 8, 1, 10}, {"", 8, 1, 5}}};
    const auto fault = [&](std::vector<Block> blocks) {
        return fault_of(Plan{.blocks = std::move(blocks)}, profile).value_or("none");
    };
    const Block both = whole_block(profile, Phase::allreduce, {0, 1});
    EXPECT_TEXT(fault({both}), "none");
    EXPECT_TEXT(fault({}), "gradient 0 is not sent whole");
    EXPECT_TEXT(fault({both, {}}), "block 1 is empty");
    EXPECT_TEXT(fault({both, both}), "block 1, gradient 0, bytes 0+8: reduced twice");
    EXPECT_TEXT(fault({{.pieces = {{7, 0, 8}}}}),
                "block 0, gradient 7, bytes 0+8: there is no such gradient");
    EXPECT_TEXT(fault({{.pieces = {{0, 4, UINT64_MAX}}}}),
                "block 0, gradient 0, bytes 4+18446744073709551615: outside the gradient's 8");
    EXPECT_TEXT(fault({{.phase = Phase::all_gather, .pieces = {{0, 0, 8}}}}),
                "block 0, gradient 0, bytes 0+8: gathered before it was reduced");
    EXPECT_TEXT(fault({{.phase = Phase::reduce_scatter, .pieces = {{0, 0, 8}, {1, 0, 8}}},
                       {.phase = Phase::all_gather, .pieces = {{0, 0, 8}, {0, 7, 1}}}}),
                "block 1, gradient 0, bytes 7+1: gathered twice");
}

// Kinds of networks outside the data sets, over the bandwidths and rings of the targets.
TEST(never_slower_than_another_rule) {
    const std::vector<Profile> profiles = {
        layered(160, 102e6, 260e3, 1.03, 0, 0.08),   // deep and narrow, like ResNet
        layered(16, 550e6, 430e3, 1.3, 0, 0.75),     // one huge layer at the end, like VGG
        layered(200, 440e6, 190e3, 1.0, 0.21, 0),    // equal blocks, a huge first one, like BERT
        layered(300, 20e6, 100e3, 1.01, 0, 0.3),     // small, like MobileNet
        layered(1000, 1e9, 500e3, 1.0, 0.05, 0.05),  // large
    };
    double worst = 0;
    int points = 0, close = 0;
    for (const Profile &profile : profiles) {
        for (double gbps : {1.0, 3.0, 5.0, 10.0, 25.0, 100.0}) {
            for (int ranks : {2, 8, 64}) {
                const Network network{gbps, 100, ranks};
                double ours = 0, best = 1e300;
                for (const Rule &rule : all_rules()) {
                    const double us =
                        simulate(profile, network, rule.plan(profile, network)).iteration_us;
                    if (rule.plan == predictive)
                        ours = us;
                    else
                        best = std::min(best, us);
                }
                worst = std::max(worst, ours / best);
                ++points;
                close += ours <= 1.05 * bound_of(profile, network).with_alpha_us;
            }
        }
    }
    ck_assert_msg(worst <= 1.01, "%.4f times the best other rule", worst);
    ck_assert_msg(close * 10 >= points * 9, "%d of %d points within 5 %% of the bound", close,
                  points);
}

// ringplan prints the time that this takes. It is not asserted, because machines differ.
TEST(a_thousand_gradients_are_planned) {
    const Profile profile = layered(1000, 440e6, 190e3, 1.0, 0.2, 0.1);
    ck_assert(!predictive(profile, {25, 300, 64}).blocks.empty());
}

int main() { return ringrt::test::run_all("grouping plans"); }
