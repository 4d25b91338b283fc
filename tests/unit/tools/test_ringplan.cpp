// SPDX-License-Identifier: BSD-3-Clause
// ringplan's output: JSON as documented, and a picture and a trace that other programs can read.
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/check.h"
#include "tests/unit/bucketing/bucketing_profiles.h"
#include "tools/ringplan/chrome_trace.h"
#include "tools/ringplan/comparison.h"
#include "tools/ringplan/grade.h"
#include "tools/ringplan/models.h"
#include "tools/ringplan/report.h"
#include "tools/ringplan/svg.h"
#include "tools/ringplan/utilisation.h"

using namespace ringrt::bucketing;
using namespace ringrt::ringplan;
using Json = nlohmann::json;

static Profile sample() {
    Profile profile = ringrt::test::layered(40, 80e6, 200e3, 1.05, 0, 0.2);
    profile.name = "a <b> & \"c\"";
    profile.gradients[3].name = "conv\xff</text>";
    return profile;
}

static Comparison compare_all(const Profile &profile, const Network &network) {
    std::vector<const Rule *> rules;
    for (const Rule &rule : all_rules()) rules.push_back(&rule);
    return compare(profile, network, rules);
}

TEST(json_has_the_documented_fields) {
    const Profile profile = sample();
    const Json one = Json::parse(ringrt::ringplan::json({compare_all(profile, {3, 300, 8})}));
    EXPECT_TEXT(one["profile"].get<std::string>(), profile.name);
    ck_assert_double_eq(one["gbps"].get<double>(), 3);
    ck_assert_double_eq(one["alpha_us"].get<double>(), 300);
    ck_assert_int_eq(one["ranks"].get<int>(), 8);
    ck_assert_uint_eq(one["rules"].size(), all_rules().size());
    const double bound_ms = one["bound_ms"].get<double>();
    for (const auto &rule : one["rules"]) {
        const double iteration_ms = rule["iteration_ms"].get<double>();
        ck_assert_double_ge(iteration_ms, bound_ms * (1 - 1e-9));
        // 200 ms of backward, 100 of forward
        ck_assert_double_eq_tol(rule["wait_ms"].get<double>(), iteration_ms - 300, 1e-6);
    }
    const Json two = Json::parse(ringrt::ringplan::json(
        {compare_all(profile, {3, 300, 8}), compare_all(profile, {10, 300, 8})}));
    ck_assert(two.is_array());
    ck_assert_uint_eq(two.size(), 2);
}

// Every tag is closed in order, and no character of a name breaks the markup.
static bool well_formed(const std::string &svg) {
    std::vector<std::string> open;
    for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
        const size_t end = svg.find('>', at);
        if (end == std::string::npos) return false;
        const std::string tag = svg.substr(at + 1, end - at - 1);
        const std::string name = tag.substr(0, tag.find(' '));
        if (name.starts_with('/')) {
            if (open.empty() || open.back() != name.substr(1)) return false;
            open.pop_back();
        } else if (!tag.ends_with('/')) {
            open.push_back(name);
        }
    }
    return open.empty();
}

TEST(the_picture_is_well_formed) {
    ck_assert(!well_formed("<svg><text>a</svg></text>"));
    std::mt19937 random(11);
    ck_assert(well_formed(svg(compare_all(sample(), {3, 300, 8}))));
    for (int round = 0; round < 30; ++round) {
        const Profile profile = ringrt::test::anything(random);
        const std::string picture = svg(compare_all(profile, {1, 10, 1 + round % 9}));
        ck_assert(well_formed(picture));
        ck_assert(picture.find("nan") == std::string::npos);
        ck_assert(picture.find("inf") == std::string::npos);
    }
}

TEST(the_trace_holds_every_block_and_layer) {
    const Profile profile = sample();
    const Comparison comparison = compare_all(profile, {3, 300, 8});
    const Json trace = Json::parse(chrome_trace(comparison));
    size_t expected = 0, events = 0;
    for (const Outcome &outcome : comparison.outcomes) {
        expected += outcome.plan.blocks.size() + 2 * profile.gradients.size();
    }
    for (const auto &event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        ++events;
        ck_assert_double_ge(event["dur"].get<double>(), 0);
    }
    ck_assert_uint_eq(events, expected);
}

TEST(waits_are_explained) {
    const Profile profile{"", {{"conv1(3; 64)", 1'000'000, 10, 100}, {"fc", 4, 10, 50}}};
    const Comparison comparison = compare_all(profile, {8, 1, 2});
    EXPECT_TEXT(why_it_waits(comparison, comparison.outcomes.front()),
                "all layers wait 1.00 ms until the last block is done");
    EXPECT_TEXT(why_it_waits(comparison, comparison.outcomes.back()).substr(0, 31),
                "layer 0 (conv1) waits 1.00 ms f");
    const Comparison fast = compare_all(profile, {1000, 0, 1});
    EXPECT_TEXT(why_it_waits(fast, fast.outcomes.back()), "the forward pass never waits");
}

TEST(grades_are_counted) {
    const Grade result = grade({ringrt::test::layered(100, 100e6, 250e3, 1.03, 0, 0.1)});
    ck_assert_int_eq(result.points, 54);
    ck_assert_int_eq(result.lost, 0);
    ck_assert_int_ge(result.near_bound, 45);
    ck_assert_uint_ge(result.notes.size(), static_cast<size_t>(54 - result.near_bound));
    ck_assert_int_eq(Json::parse(grade_json(result))["points"].get<int>(), 54);
}

TEST(utilisation_adds_up_over_the_iteration) {
    // backward 0–10; second sent 4–10, first 10–14; forward 14–22
    const Profile profile{"", {{"first", 2000, 3, 10}, {"second", 4000, 5, 4}}};
    const Comparison comparison = compare(profile, {8, 1, 2}, {find_rule("fifo")});
    const Utilisation use = utilisation_of(profile, comparison.outcomes[0].timeline, 11);
    for (size_t i = 0; i < 11; ++i) {
        ck_assert_double_eq_tol(use.compute[i], i < 5 || i >= 7 ? 1 : 0, 1e-9);
        ck_assert_double_eq_tol(use.link[i], i >= 2 && i < 7 ? 1 : 0, 1e-9);
    }
}

TEST(models_have_the_sizes_of_their_architectures) {
    const Profile resnet = stepwise_resnet50(64);
    ck_assert_uint_eq(resnet.gradients.size(), 157);
    ck_assert_double_eq_tol(static_cast<double>(total_bytes(resnet)), 4 * 25.56e6, 4 * 0.03e6);
    ck_assert_double_eq_tol(backward_us(resnet), 584e3, 1e-3);  // the authors' table
    ck_assert_double_eq_tol(forward_us(resnet), 292e3, 1e-3);
    ck_assert_double_eq_tol(backward_us(stepwise_resnet50(16)), 146e3, 1e-3);
    const double millions[] = {11.69, 25.56, 60.19, 143.67};  // ResNet-18, -50, -152, VGG-19
    for (size_t i = 0; i < models().size(); ++i) {
        const Profile profile = models()[i].profile(32);
        ck_assert_double_eq_tol(static_cast<double>(total_bytes(profile)) / 4e6, millions[i], 0.03);
        ck_assert_double_eq_tol(backward_us(profile), 2 * forward_us(profile), 1);
    }
}

int main() { return ringrt::test::run_all("ringplan"); }
