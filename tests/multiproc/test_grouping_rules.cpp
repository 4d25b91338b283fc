// SPDX-License-Identifier: BSD-3-Clause
// Every rule of ringplan in a real training: RINGRT_GROUPING changes when bytes are sent, never a
// sum.
#include <algorithm>

#include "libringrt/bucketing/rules.h"
#include "libringrt/ringrt.h"
#include "tests/multiproc/gradient_training.h"

using namespace ringrt;
using namespace ringrt::test;

namespace {

constexpr int kSteps = 18;  // plans change after 1, 2, 4, 8 and 16, if they do

// Large enough that P3's slices and the partitions of 4 MB cut it, at odd offsets for three ranks.
const std::vector<uint64_t> kLarge = {5, 1'300'001, 0, 60'007, 1};

void train_by_the_public_calls(int rank, int size) {
    ringrt_config_t config = RINGRT_CONFIG_INIT;
    config.rank = rank;
    config.size = size;
    ringrt_t *rt = nullptr;
    need(ringrt_init(&rt, &config) == RINGRT_OK, ringrt_last_error(nullptr));
    std::vector<std::vector<float>> gradients;
    for (const uint64_t count : kLarge) {
        int id = -1;
        need(ringrt_gradient_register(rt, "g", count, RINGRT_FLOAT32, RINGRT_SUM, &id) == RINGRT_OK,
             ringrt_last_error(rt));
        gradients.emplace_back(count + 1);
    }
    const int last = static_cast<int>(kLarge.size()) - 1;
    for (int step = 0; step < 3; ++step) {
        for (int g = last; g >= 0; --g) {
            auto &values = gradients[static_cast<size_t>(g)];
            for (uint64_t i = 0; i < values.size(); ++i) values[i] = element(rank, g, i, step);
            need(ringrt_gradient_ready(rt, g, values.data()) == RINGRT_OK, ringrt_last_error(rt));
        }
        for (int g = 0; g <= last; ++g) {
            need(ringrt_gradient_wait(rt, g, nullptr) == RINGRT_OK, ringrt_last_error(rt));
            for (uint64_t i = 0; i < kLarge[static_cast<size_t>(g)]; ++i) {
                need(gradients[static_cast<size_t>(g)][i] == expected(size, g, i, step),
                     "a sum differs");
            }
        }
    }
    need(ringrt_finalize(rt) == RINGRT_OK, "finalize");
}

}  // namespace

TEST(every_rule_of_the_environment_gives_the_same_sums) {
    for (const bucketing::Rule &rule : bucketing::all_rules()) {
        TemporaryDirectory directory;
        Ranks ranks(3, [&](int rank) {
            setenv("RINGRT_CHECKPOINT_DIR", directory.path.c_str(), 1);
            setenv("RINGRT_GROUPING", rule.name.data(), 1);
            train_by_the_public_calls(rank, 3);
            return 0;
        });
        expect_all_zero(ranks.wait());
    }
}

// Plans are learned and change meanwhile, by the chosen rule.
TEST(a_chosen_rule_makes_every_plan) {
    for (const bucketing::Rule &rule : bucketing::all_rules()) {
        TemporaryDirectory directory;
        Ranks ranks(2, [&](int rank) {
            Job job(2, rank, directory);
            GradientReducer exchange(job.communicator, {.rule = &rule});
            Training training(exchange, kCounts);
            for (int step = 0; step < kSteps; ++step) {
                training.fill(rank, step);
                for (size_t g = kCounts.size(); g-- > 0;) training.ready(g);
                training.wait_and_check(2, step);
            }
            const bucketing::Plan plan = exchange.state().plan;
            const bool barrier = rule.plan(profile_of(kCounts), {1, 10, 2}).barrier;
            need(rule.name == "predictive" || plan.barrier == barrier, "another rule's plan");
            need(rule.name != "fifo" || plan.blocks.size() == 7, "fifo sends each by itself");
            return 0;
        });
        expect_all_zero(ranks.wait());
    }
}

// Two ranks with different environments: rank 0's rule applies to both.
TEST(the_rule_of_rank_0_applies_to_all) {
    TemporaryDirectory directory;
    Ranks ranks(2, [&](int rank) {
        Job job(2, rank, directory);
        GradientReducer exchange(job.communicator,
                                 {.rule = bucketing::find_rule(rank == 0 ? "fifo" : "dear")});
        Training training(exchange, kCounts);
        for (int step = 0; step < 3; ++step) {
            training.fill(rank, step);
            for (size_t g = kCounts.size(); g-- > 0;) training.ready(g);
            training.wait_and_check(2, step);
        }
        need(exchange.state().plan.barrier, "not fifo's plan");
        return 0;
    });
    expect_all_zero(ranks.wait());
}

int main() { return ringrt::test::run_all("grouping rules while training", 120); }
