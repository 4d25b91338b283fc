// SPDX-License-Identifier: BSD-3-Clause
// Learning during training: the stages and the link.
#include <random>

#include "libringrt/bucketing/link_fit.h"
#include "libringrt/bucketing/stages.h"
#include "tests/support/check.h"
#include "tests/unit/bucketing/bucketing_profiles.h"

using namespace ringrt::bucketing;
using ringrt::test::uniform;

static std::vector<double> bursts(std::mt19937 &random, double jitter, double scale = 1) {
    std::vector<double> ready;
    for (int stage = 0; stage < 5; ++stage) {
        for (int i = 0; i < 10; ++i) {
            ready.push_back(scale * (stage * 50.0 + i + uniform(random, 0, jitter)));
        }
    }
    return ready;
}

TEST(a_gap_of_twice_the_mean_ends_a_stage) {
    const std::vector<double> ready = {0, 1, 2, 20, 21, 40};
    ck_assert(detect_stages(ready) == (std::vector<uint32_t>{0, 3, 5}));
    ck_assert(detect_stages({}).empty());
    ck_assert(detect_stages(std::vector<double>{7}) == std::vector<uint32_t>{0});
    ck_assert(detect_stages(std::vector<double>{7, 7, 7}) == std::vector<uint32_t>{0});
}

TEST(jitter_does_not_move_the_stages) {
    std::mt19937 random(7);
    StageTracker tracker;
    ck_assert(tracker.observe(bursts(random, 0)));
    const std::vector<uint32_t> first = tracker.stages();
    ck_assert_uint_eq(first.size(), 5);
    for (int step = 0; step < 500; ++step) {
        ck_assert(
            !tracker.observe(bursts(random, 0.9, step % 2 ? 1 : 2)));  // batch halved or doubled
    }
    ck_assert(tracker.stages() == first);
}

TEST(a_lasting_change_is_seen_in_three_steps) {
    std::mt19937 random(8);
    StageTracker tracker;
    tracker.observe(bursts(random, 0));
    std::vector<double> other = bursts(random, 0);
    for (size_t i = 5; i < other.size(); ++i) other[i] += 40;  // a gap within the first stage
    ck_assert(!tracker.observe(other));
    ck_assert(!tracker.observe(bursts(random, 0)));  // one deviation is not lasting
    ck_assert(!tracker.observe(other));
    ck_assert(!tracker.observe(other));
    ck_assert(tracker.observe(other));
    ck_assert_uint_eq(tracker.stages().size(), 6);
    ck_assert(tracker.observe(std::vector<double>{1, 2, 3}));  // other gradients
}

static double phase_us(double gbps, double alpha_us, int ranks, double bytes) {
    return Network{gbps, alpha_us, ranks}.phase_us(bytes);
}

TEST(the_link_is_found_from_noisy_blocks) {
    std::mt19937 random(9);
    LinkFit fit(10, 50);
    for (int block = 0; block < 200; ++block) {
        const double bytes = ringrt::test::log_uniform(random, 1e3, 30e6);
        double us = phase_us(3, 200, 8, bytes) * uniform(random, 0.97, 1.05);
        if (random() % 20 == 0) us *= 5;  // a rank was descheduled
        fit.observe(8, bytes, us);
    }
    const LinkEstimate estimate = fit.estimate();
    ck_assert_double_eq_tol(estimate.gbps, 3, 0.2);
    ck_assert_double_eq_tol(estimate.alpha_us, 200, 30);
    ck_assert_double_lt(estimate.gbps_error, 0.5);
    ck_assert_double_gt(estimate.gbps_error, 0);
    ck_assert_double_gt(estimate.alpha_error_us, 0);
}

TEST(drift_is_followed_within_ten_blocks) {
    LinkFit fit(10, 50);
    const auto run = [&](double gbps, int blocks) {
        int changes = 0;
        for (int block = 0; block < blocks; ++block) {
            const double bytes = 1e6 * (1 + block % 5);
            changes += fit.observe(8, bytes, phase_us(gbps, 100, 8, bytes));
        }
        return changes;
    };
    run(10, 40);
    ck_assert_double_eq_tol(fit.estimate().gbps, 10, 0.3);
    ck_assert_int_eq(run(3, 10), 1);
    ck_assert_double_eq_tol(fit.estimate().gbps, 3, 0.1);
    ck_assert_int_eq(run(10, 10), 1);
    ck_assert_double_eq_tol(fit.estimate().gbps, 10, 0.3);
    ck_assert_int_eq(run(10, 500), 0);
}

TEST(blocks_of_one_size_still_predict_that_size) {
    LinkFit fit(10, 50);
    for (int block = 0; block < 50; ++block) fit.observe(4, 1e6, 5000);
    const LinkEstimate estimate = fit.estimate();
    const double predicted = phase_us(estimate.gbps, estimate.alpha_us, 4, 1e6);
    ck_assert_double_eq_tol(predicted, 5000, 50);
}

// A plan of equal blocks does not turn bandwidth into latency, however long it runs.
TEST(nearly_equal_blocks_do_not_change_the_link) {
    std::mt19937 random(3);
    LinkFit fit(10, 50);
    for (int block = 0; block < 100; ++block) {
        const double bytes = ringrt::test::log_uniform(random, 1e4, 30e6);
        fit.observe(8, bytes, phase_us(5, 100, 8, bytes) * uniform(random, 0.98, 1.04));
    }
    for (int block = 0; block < 3000; ++block) {
        const double bytes = 20e6 + static_cast<double>(block % 3) * 1e6;
        fit.observe(8, bytes, phase_us(5, 100, 8, bytes) * uniform(random, 0.98, 1.04));
        ck_assert_double_eq_tol(fit.estimate().gbps, 5, 0.5);
        ck_assert_double_lt(fit.estimate().alpha_us, 300);
    }
}

TEST(nonsense_is_ignored) {
    LinkFit fit(10, 50);
    fit.observe(1, 1e6, 100);
    fit.observe(8, 1e6, 0);
    fit.observe(8, 1e6, -5);
    fit.observe(8, 1e6, std::nan(""));
    fit.observe(8, -1, 100);
    ck_assert_int_eq(fit.estimate().blocks, 0);
    ck_assert_double_eq(fit.estimate().gbps, 10);
}

int main() { return ringrt::test::run_all("grouping online"); }
