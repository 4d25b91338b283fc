// SPDX-License-Identifier: BSD-3-Clause
// Learning during training, against a model of the training: it follows drift, a resize keeps what
// was learned, and a checkpoint's content is treated as hostile.
#include <algorithm>
#include <functional>

#include "libringrt/bucketing/rules.h"
#include "libringrt/bucketing/timeline.h"
#include "libringrt/gradients/learner.h"
#include "libringrt/schedule/cost_model.h"
#include "tests/support/check.h"
#include "tests/unit/bucketing/bucketing_profiles.h"

using namespace ringrt;
using namespace ringrt::bucketing;

static const Rule &kPredictive = *find_rule("predictive");
using ringrt::test::anything;
using ringrt::test::layered;
using ringrt::test::uniform;

namespace {

// A training over a link. Events follow the plan's timeline with jitter, and the learner sees what
// the exchange would report.
class Model {
  public:
    Model(Profile profile, Network network, unsigned seed)
        : profile_(std::move(profile)),
          network_(network),
          random_(seed),
          learner_(bytes_of(profile_), network.ranks) {
        Profile sizes = profile_;
        double ready = 1000.0 * static_cast<double>(sizes.gradients.size());
        for (Gradient &gradient : sizes.gradients) {
            gradient.ready_us = ready;
            gradient.forward_us = 500;
            ready -= 1000;
        }
        plan_ = predictive(sizes, {10, 50, network.ranks});
    }

    void set_network(double gbps) { network_.gbps = gbps; }
    void scale_batch(double factor) {
        for (Gradient &gradient : profile_.gradients) {
            gradient.ready_us *= factor;
            gradient.forward_us *= factor;
        }
    }

    void steps(int count) {
        for (int i = 0; i < count; ++i) step();
    }

    // The time of the current plan's iteration relative to a fresh plan's, both on the true
    // profile.
    [[nodiscard]] double slowdown() const {
        return simulate(profile_, network_, plan_).iteration_us /
               simulate(profile_, network_, predictive(profile_, network_)).iteration_us;
    }
    [[nodiscard]] const Learner &learner() const { return learner_; }

  private:
    static std::vector<uint64_t> bytes_of(const Profile &profile) {
        std::vector<uint64_t> out;
        for (const Gradient &gradient : profile.gradients) out.push_back(gradient.bytes);
        return out;
    }

    double jitter() { return uniform(random_, 0.98, 1.04); }

    void step() {
        if (learner_.steps() > 0 && learner_.steps() % kAgreeEvery == 0 &&
            learner_.take_replan_due()) {
            if (auto plan = better_plan(kPredictive, learner_.profile(), learner_.network(), plan_))
                plan_ = *std::move(plan);
        }
        const Timeline timeline = simulate(profile_, network_, plan_);
        const double factor = jitter();
        StepProfiler &calls = learner_.calls();
        calls.begin_backward(now_us_);
        for (uint32_t id : ready_order(profile_))
            calls.ready(id, now_us_ + profile_.gradients[id].ready_us * factor);
        for (size_t i = 0; i < plan_.blocks.size(); ++i) {
            const double us = timeline.blocks[i].end_us - timeline.blocks[i].start_us;
            const int phases = plan_.blocks[i].phase == Phase::allreduce ? 2 : 1;
            for (int phase = 0; phase < phases; ++phase)
                learner_.sent(static_cast<double>(block_bytes(plan_.blocks[i])),
                              us / phases * jitter());
        }
        for (uint32_t id = 0; id < timeline.layers.size(); ++id) {
            const Span &layer = timeline.layers[id];
            if (id > 0) calls.begin_wait(now_us_ + timeline.layers[id - 1].end_us);
            calls.end_wait(id, now_us_ + layer.start_us);
        }
        now_us_ += timeline.layers.empty() ? 0 : timeline.layers.back().start_us;
        learner_.end_step();
    }

    Profile profile_;
    Network network_;
    std::mt19937 random_;
    Learner learner_;
    Plan plan_;
    double now_us_ = 1;
};

struct Case {
    const char *name;
    Profile profile;
};

// Like ResNet-50, VGG-16 and BERT-base.
std::vector<Case> cases() {
    return {{"convolutions", layered(107, 100e6, 150e3, 1.03, 0, 0.08)},
            {"large tail", layered(32, 550e6, 250e3, 1.05, 0, 0.8)},
            {"large head", layered(200, 430e6, 300e3, 1.0, 0.2, 0)}};
}

void expect_near_a_fresh_plan(const Model &model, const char *name, const char *when) {
    ck_assert_msg(model.slowdown() <= 1.05, "%s, %s: %.3f times a fresh plan", name, when,
                  model.slowdown());
}

}  // namespace

TEST(ten_iterations_after_drift_the_plan_is_as_good_as_a_fresh_one) {
    for (const Case &one : cases()) {
        for (unsigned seed = 1; seed <= 4; ++seed) {
            Model model(one.profile, {10, 100, 8}, seed);
            model.steps(21 + static_cast<int>(seed));  // changes fall on any cycle step
            expect_near_a_fresh_plan(model, one.name, "settled");
            for (double gbps : {3.0, 10.0}) {
                model.set_network(gbps);
                model.steps(10);
                expect_near_a_fresh_plan(model, one.name, gbps < 5 ? "10 to 3 Gb/s" : "back");
                model.steps(6);
            }
            for (double factor : {2.0, 0.5}) {
                model.scale_batch(factor);
                model.steps(10);
                expect_near_a_fresh_plan(model, one.name, factor > 1 ? "batch * 2" : "batch / 2");
                model.steps(7);
            }
        }
    }
}

TEST(learned_values_travel_as_text) {
    std::mt19937 random(4);
    for (int round = 0; round < 200; ++round) {
        Learned learned{.plan_version = random(),
                        .samples_per_rank = 16,
                        .gbps = uniform(random, 0.1, 100),
                        .alpha_us = uniform(random, 0, 500),
                        .profile = anything(random)};
        const std::string text = format_learned(learned);
        const auto back = parse_learned(text);
        ck_assert(back.has_value());
        ck_assert_uint_eq(back->plan_version, learned.plan_version);
        ck_assert_double_eq_tol(back->gbps, learned.gbps, 1e-4 * learned.gbps);
        ck_assert_uint_eq(back->profile.gradients.size(), learned.profile.gradients.size());
        EXPECT_TEXT(format_learned(*back), text);
    }
}

TEST(damaged_text_does_no_harm) {
    std::mt19937 random(5);
    Learned learned{.plan_version = 3, .samples_per_rank = 8, .gbps = 9.4, .alpha_us = 20};
    learned.profile = layered(20, 1e6, 1e4, 1.1, 0, 0);
    const std::string good = format_learned(learned);
    for (const char *bad :
         {"", "1", "2 3 8 9.4 20 0", "1 3 8 9.4 20 1", "1 -3 8 9.4 20 0", "1 3 8 nan 20 0",
          "1 3 8 inf 20 0", "1 3 8 9.4 20 0 7", "1 3 8 9.4 20 99999999999",
          "1 3 8 9.4 20 1 4 1e99 0", "1 3 8 9.4 20 1 99999999999999999 1 1"})
        ck_assert_msg(!parse_learned(bad), "accepted: %s", bad);
    ck_assert(!parse_learned(std::string(kLearnedBytesMax + 1, '1')));
    for (int round = 0; round < 20000; ++round) {
        std::string text = good;
        for (unsigned edits = 1 + random() % 3; edits > 0; --edits)
            text[random() % text.size()] = static_cast<char>(random());
        if (random() % 4 == 0) text.resize(random() % text.size());
        const auto read = parse_learned(text);
        if (!read || round % 50) continue;  // accepted text gives is_valid plans
        const Network network{std::max(read->gbps, 1e-3), read->alpha_us, 4};
        const Profile profile = profile_at(*read, 4);
        ck_assert(!fault_of(predictive(profile, network), profile));
    }
}

TEST(a_resize_carries_the_profile_and_the_link_over) {
    Model two(layered(50, 100e6, 200e3, 1.02, 0, 0.1), {3, 100, 2}, 1);
    two.steps(20);
    const Learned carried = *parse_learned(format_learned(two.learner().learned(5, 32)));
    std::vector<uint64_t> bytes;
    for (const Gradient &gradient : carried.profile.gradients) bytes.push_back(gradient.bytes);
    Learner four(bytes, 4);
    ck_assert(four.restore(carried, 16));  // the same batch on twice the ranks
    ck_assert_double_eq_tol(backward_us(four.profile()), 100e3, 5e3);
    ck_assert_double_eq_tol(four.network().gbps, 3, 0.3);
    ck_assert_int_eq(four.network().ranks, 4);
    bytes.pop_back();
    ck_assert(!Learner(bytes, 4).restore(carried, 16));
    bytes.push_back(1);
    ck_assert(!Learner(bytes, 4).restore(carried, 16));
}

// More ranks share the same batch: computation shrinks, communication does not.
TEST(planned_speeds_follow_the_size_of_the_ring) {
    const Learned learned{.plan_version = 1,
                          .samples_per_rank = 32,
                          .gbps = 10,
                          .alpha_us = 50,
                          .profile = layered(50, 100e6, 200e3, 1.02, 0, 0.1)};
    const double compute_ms = (backward_us(learned.profile) + forward_us(learned.profile)) / 1e3;
    ck_assert_double_eq_tol(planned_step_ms(kPredictive, learned, 2, 1, 64), 2 * compute_ms, 1e-6);
    double before = 2 * compute_ms;
    for (int ranks : {2, 4, 8}) {
        const double ms = planned_step_ms(kPredictive, learned, 2, ranks, 64.0 / ranks);
        ck_assert_double_ge(ms, 2 * compute_ms / ranks);
        ck_assert_double_lt(ms, before);
        before = ms;
    }
    ck_assert_double_ge(planned_step_ms(kPredictive, learned, 2, 64, 1),
                        2 * 100e6 * 8 / 10e9 * 1e3 * 63 / 64);
    Learned unknown = learned;
    unknown.gbps = 0;
    ck_assert_double_eq(planned_step_ms(kPredictive, unknown, 2, 4, 16), 0);
}

// If only latency counts, the planned speed at 64 ranks follows the communicator's cost model,
// whose messages overlap, and not 63 sequential messages.
TEST(planned_latency_follows_the_cost_model) {
    Learned learned{.plan_version = 1, .gbps = 1e6, .alpha_us = 1000};
    learned.profile.gradients = {{"", 4, 1, 1}};
    const auto both_phases_ms = [&](int measured, int ranks) {
        return planned_step_ms(kPredictive, learned, measured, ranks, 0);
    };
    ck_assert_double_eq_tol(both_phases_ms(2, 2), 2, 0.1);
    ck_assert_double_eq_tol(both_phases_ms(2, 64), 2 * exchange_latency(64), 0.1);
    ck_assert_double_eq_tol(both_phases_ms(8, 8), 2 * 7, 0.1);  // as measured there
    ck_assert_double_eq_tol(both_phases_ms(8, 2), 2 * 7 / exchange_latency(8), 0.1);
}

int main() { return ringrt::test::run_all("grouping learner"); }
