// SPDX-License-Identifier: BSD-3-Clause
// Small cases computed by hand, and the planner compared with every possible plan.
#include <random>

#include "libringrt/bucketing/bound.h"
#include "libringrt/bucketing/buckets.h"
#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"
#include "tests/support/check.h"
#include "tests/unit/bucketing/bucketing_profiles.h"

using namespace ringrt::bucketing;

// Two ranks at 8 Gb/s: a phase of s bytes takes 1 us + s/2000 us.
static const Network kNetwork{.gbps = 8, .alpha_us = 1, .ranks = 2};
static const Profile kTwo{"two", {{"first", 2000, 3, 10}, {"second", 4000, 5, 4}}};

static double iteration_us(const char *rule, const Profile &profile, const Network &network) {
    const Plan plan = find_rule(rule)->plan(profile, network);
    const auto fault = fault_of(plan, profile);
    ck_assert_msg(!fault, "%s: %s", rule, fault ? fault->c_str() : "");
    return simulate(profile, network, plan).iteration_us;
}

TEST(each_rule_on_two_gradients) {
    // second 4–10, first 10–14, then 3 + 5 of forward
    ck_assert_double_eq_tol(iteration_us("fifo", kTwo, kNetwork), 22, 1e-9);
    // one bucket 10–18
    ck_assert_double_eq_tol(iteration_us("ddp", kTwo, kNetwork), 26, 1e-9);
    // one cycle of 1 ms, then 8
    ck_assert_double_eq_tol(iteration_us("fusion", kTwo, kNetwork), 1016, 1e-9);
    // waiting 6 us for the first would cost more than a start-up: not merged
    ck_assert_double_eq_tol(iteration_us("mgwfbp", kTwo, kNetwork), 22, 1e-9);
    ck_assert_double_eq_tol(iteration_us("priority", kTwo, kNetwork), 22, 1e-9);
    for (const char *shipped : {"tictac", "p3", "bytescheduler"})
        ck_assert_double_eq_tol(iteration_us(shipped, kTwo, kNetwork), 22, 1e-9);
    // its smallest bucket holds both: 10–14 and 14–18
    ck_assert_double_eq_tol(iteration_us("dear", kTwo, kNetwork), 26, 1e-9);
    // one gap is not a stage
    ck_assert_double_eq_tol(iteration_us("prophet", kTwo, kNetwork), 26, 1e-9);
    ck_assert_double_eq_tol(iteration_us("predictive", kTwo, kNetwork), 22, 1e-9);
}

// A push of s bytes takes 1 us + s/1000 us. Its pull takes as long and overlaps the next push.
TEST(servers_pull_while_the_next_gradient_is_pushed) {
    const Network servers{.gbps = 8, .alpha_us = 1, .ranks = 2, .servers = true};
    // second: pushed 4–9, pulled 9–14; first: pushed 10–13, pulled 14–17; then 3 + 5 of forward
    for (const char *rule : {"fifo", "tictac", "p3", "bytescheduler", "priority"})
        ck_assert_double_eq_tol(iteration_us(rule, kTwo, servers), 25, 1e-9);
    // second completely, then first during its pull: 4–8, 10–12, at least 12–14, 8 of forward
    ck_assert_double_eq_tol(bound_of(kTwo, servers).fluid_us, 20, 1e-9);
    // predictive delays the second's pull: first pulled 13–16, second 16–21 behind the first layer
    ck_assert_double_le(iteration_us("predictive", kTwo, servers), 25 + 1e-9);
    const Timeline timeline = simulate(kTwo, servers, fifo(kTwo, servers));
    ck_assert_double_eq_tol(timeline.link_busy_us, 8, 1e-9);  // in each direction
    ck_assert_double_eq_tol(timeline.sent_bytes, 6000, 1e-9);
}

// The shipped defaults in their own sizes: slices of 200 KB, one at a time; 4 MB, four at a time;
// 4,096,000.
TEST(shipped_defaults_cut_where_they_do) {
    const Profile profile{"", {{"", 1000, 1, 30}, {"", 20'000'000, 1, 10}}};
    const Network network{.gbps = 8, .alpha_us = 1, .ranks = 2};
    const Plan slices = p3(profile, network);
    ck_assert_uint_eq(slices.blocks.size(), 101);
    ck_assert_uint_eq(block_bytes(slices.blocks[0]), 200'000);
    ck_assert_uint_eq(slices.blocks[1].pieces[0].gradient, 0);  // overtakes after one slice
    const Plan credit = bytescheduler(profile, network);
    ck_assert_uint_eq(credit.blocks.size(), 2);
    ck_assert_uint_eq(block_bytes(credit.blocks[0]), 16'000'000);
    ck_assert_uint_eq(credit.blocks[1].pieces[0].gradient, 0);
    const Plan whole = tictac(profile, network);
    ck_assert_uint_eq(block_bytes(whole.blocks[0]), 20'000'000);
}

// Two stages, 20 ms apart. Of the first gradient, partitions that can start within them are sent;
// the rest is sent behind gradient 0, one window at a time.
TEST(prophet_fills_the_gap_between_stages_with_partitions) {
    Profile profile;
    for (int i = 0; i < 10; ++i) profile.gradients.push_back({"", 40'000, 100, 30'000.0 - i});
    for (int i = 0; i < 10; ++i) profile.gradients.push_back({"", 40'000, 100, 10'000.0 - i});
    profile.gradients.back().bytes = 40'000'000;
    const Network network{
        .gbps = 8, .alpha_us = 1, .ranks = 2};  // 20 ms: 20 MB through both phases
    const Plan plan = prophet(profile, network);
    const auto fault = fault_of(plan, profile);
    ck_assert_msg(!fault, "%s", fault ? fault->c_str() : "");
    uint64_t of_large = 0;
    for (const Piece &piece : plan.blocks[0].pieces)
        of_large += piece.gradient == 19 ? piece.bytes : 0;
    ck_assert_uint_eq(of_large, 5 * uint64_t{4'096'000});
    ck_assert_uint_eq(plan.blocks[1].pieces[0].gradient, 0);
}

// 1.5 GB in one gradient has more partitions than are worth planning, so partitions grow. Each
// still holds whole elements.
TEST(cuts_of_a_large_model_keep_elements_whole) {
    const Profile profile{"", {{"", 1'500'000'008, 1e6, 2e6}, {"", 400'000, 1e3, 1e3}}};
    for (const Rule &rule : all_rules()) {
        for (const Block &block : rule.plan(profile, {10, 50, 4}).blocks) {
            for (const Piece &piece : block.pieces)
                ck_assert_msg(piece.offset % 8 == 0, "%s cuts at byte %lu", rule.name.data(),
                              static_cast<unsigned long>(piece.offset));
        }
    }
}

TEST(the_bound_on_two_gradients) {
    const Bound bound = bound_of(kTwo, kNetwork);
    ck_assert_double_eq_tol(bound.fluid_us, 20, 1e-9);  // 4–8, 10–12, 8 of forward
    ck_assert_double_eq_tol(bound.with_alpha_us, 22, 1e-9);
}

// The bound preempts: the urgent gradient is sent at 10 although the large one is in progress.
TEST(the_bound_preempts) {
    const Profile profile{"", {{"", 2000, 3, 10}, {"", 20000, 5, 4}}};
    // large 4–10, urgent 10–12, large 12–26, its layer 5; the first layer 12–15 hides behind it
    ck_assert_double_eq_tol(bound_of(profile, {8, 0, 2}).fluid_us, 31, 1e-9);
}

TEST(mgwfbp_merges_gradients_that_would_wait_anyway) {
    const Network network{.gbps = 8, .alpha_us = 2, .ranks = 2};
    // c is sent from 1 to 15; b and a become ready meanwhile and share a block
    const Profile profile{"", {{"a", 2000, 1, 12}, {"b", 2000, 1, 7}, {"c", 10000, 1, 1}}};
    const Plan plan = mgwfbp(profile, network);
    ck_assert_uint_eq(plan.blocks.size(), 2);
    ck_assert_uint_eq(plan.blocks[1].pieces.size(), 2);
    ck_assert_double_eq_tol(simulate(profile, network, plan).iteration_us, 15 + 8 + 3, 1e-9);
}

TEST(ddp_closes_its_first_bucket_at_one_mebibyte) {
    const Profile profile{"",
                          {{"", 24 * kMiB, 1, 5},
                           {"", 2 * kMiB, 1, 4},
                           {"", 30 * kMiB, 1, 3},
                           {"", kMiB / 2, 1, 2},
                           {"", kMiB / 2, 1, 1}}};
    const auto buckets = buckets_in_ready_order(profile, ready_order(profile), kMiB, 25 * kMiB);
    ck_assert_uint_eq(buckets.size(), 3);
    ck_assert_uint_eq(buckets[0].size(), 2);
    ck_assert_uint_eq(buckets[1].size(), 1);
    ck_assert_uint_eq(buckets[2].size(), 2);
}

// The large last layer is ready first. Sent whole it blocks the first layer; cut, it does not.
TEST(a_large_gradient_is_split) {
    const Network network{.gbps = 8, .alpha_us = 1, .ranks = 2};
    const Profile profile{"", {{"first", 2'000'000, 15000, 4000}, {"last", 20'000'000, 1000, 100}}};
    const double ours = iteration_us("predictive", profile, network);
    ck_assert_double_lt(ours, iteration_us("dear", profile, network));
    ck_assert_double_lt(ours, bound_of(profile, network).with_alpha_us * 1.001);
    size_t pieces_of_last = 0;
    for (const Block &block : predictive(profile, network).blocks) {
        for (const Piece &piece : block.pieces) pieces_of_last += piece.gradient == 1;
    }
    ck_assert_uint_gt(pieces_of_last, 2);
}

// The best of all plans that send whole gradients, in blocks of any content and order.
namespace {
struct Exhaustive {
    const Profile &profile;
    const Network &network;
    Plan plan{};
    double best_us = 1e300;
    unsigned all = (1U << profile.gradients.size()) - 1;

    void search(unsigned reduced, unsigned gathered) {
        if (gathered == all) {
            best_us = std::min(best_us, simulate(profile, network, plan).iteration_us);
            return;
        }
        for (unsigned set = 1; set <= all; ++set) {
            if ((set & reduced) == 0) step(Phase::reduce_scatter, set, reduced | set, gathered);
            if ((set & reduced) == set && (set & gathered) == 0) {
                step(Phase::all_gather, set, reduced, gathered | set);
            }
        }
    }

    void step(Phase phase, unsigned set, unsigned reduced, unsigned gathered) {
        std::vector<uint32_t> ids;
        for (uint32_t id = 0; id < profile.gradients.size(); ++id) {
            if ((set >> id & 1) != 0) ids.push_back(id);
        }
        plan.blocks.push_back(whole_block(profile, phase, ids));
        search(reduced, gathered);
        plan.blocks.pop_back();
    }
};
}  // namespace

TEST(the_planner_matches_an_exhaustive_search) {
    std::mt19937 random(3);
    std::vector<double> ratios;
    for (int round = 0; round < 120; ++round) {
        Profile profile;
        const double backward = ringrt::test::uniform(random, 100, 1000);
        for (int i = 0; i < 3 + round % 2; ++i) {
            profile.gradients.push_back(
                {"", 100 + static_cast<uint64_t>(ringrt::test::log_uniform(random, 1e3, 1e6)),
                 ringrt::test::uniform(random, 0, backward / 3),
                 ringrt::test::uniform(random, 0, backward)});
        }
        const Network network{.gbps = ringrt::test::log_uniform(random, 1, 50),
                              .alpha_us = ringrt::test::log_uniform(random, 0.1, 50),
                              .ranks = 2 + static_cast<int>(random() % 3)};
        Exhaustive everything{profile, network};
        everything.search(0, 0);
        const double ours = iteration_us("predictive", profile, network);
        ratios.push_back(ours / everything.best_us);
        ck_assert_double_ge(ours, bound_of(profile, network).with_alpha_us * (1 - 1e-9));
        ck_assert_double_ge(everything.best_us,
                            bound_of(profile, network).with_alpha_us * (1 - 1e-9));
    }
    std::ranges::sort(ratios);
    const double most = ratios[ratios.size() * 9 / 10];  // nine of ten are no worse
    ck_assert_msg(most < 1.005, "ours takes %.4f times the best", most);
    ck_assert_msg(ratios.back() < 1.03, "ours takes %.4f times the best once", ratios.back());
}

int main() { return ringrt::test::run_all("grouping rules"); }
