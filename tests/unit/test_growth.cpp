// SPDX-License-Identifier: BSD-3-Clause
// Greedy growth's short cuts against growth without them, and places on nodes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/growth.h"
#include "slurm_plugin/policy/placement.h"
#include "slurm_plugin/policy/proposal.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::policy;
using namespace ringrt::test;

// Jobs of which most run, packed on the nodes.
std::vector<Job> running_jobs(std::mt19937_64 &random, const Capacity &capacity,
                              std::size_t count) {
    std::vector<Job> jobs = random_jobs(random, count, 16);
    Packing packing(capacity);
    for (Job &job : jobs) {
        const int gpus = std::min(job.gpus_max, 1 << (random() % 4));
        if (random() % 8 != 0 && packing.place(gpus, &job.held)) job.gpus_now = gpus;
    }
    return jobs;
}

TEST(a_likely_gain_changes_nothing_of_growth) {
    std::mt19937_64 random(11);
    for (int n = 0; n < 2000; ++n) {
        const Capacity capacity = nodes(static_cast<int>(2 + random() % 40), 8);
        const std::vector<Job> jobs = running_jobs(random, capacity, 1 + random() % 100);
        const Options options{.gain = kRules[random() % 4]};
        const Ladders ladders(jobs, capacity, options);
        std::vector<Level> plain(jobs.size(), 0), hinted = plain;
        Room first(capacity), second(capacity);
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            first.change(0, 1);
            second.change(0, 1);
        }
        if (first.is_over()) continue;
        const Step some = ladders.best_step(static_cast<int>(random() % jobs.size()), 0, 8);
        const double short_by = grow(ladders, plain, first);
        const double hinted_short_by = grow(ladders, hinted, second, some.gain);
        ck_assert_msg(plain == hinted, "case %d: other sizes", n);
        ck_assert_double_eq(short_by, hinted_short_by);
    }
}

TEST(either_start_is_known_without_both) {
    std::mt19937_64 random(12);
    int known = 0;
    for (int n = 0; n < 3000; ++n) {
        const Capacity capacity = nodes(static_cast<int>(2 + random() % 20), 8);
        std::vector<Job> jobs = running_jobs(random, capacity, 1 + random() % 60);
        const Options options{.gain = kRules[random() % 4]};
        const Ladders ladders(jobs, capacity, options);
        const EmptyNodes empty(capacity);
        if (!fits_as_it_is(ladders, empty)) continue;
        const std::optional<Proposal> either = propose_either(ladders, empty).proposal;
        if (!either) continue;
        ++known;
        const std::optional<Proposal> from_min = propose(ladders, empty, Start::from_min);
        ck_assert(from_min.has_value());
        ck_assert_msg(either->wanted == from_min->wanted, "case %d: other sizes wanted", n);
        ck_assert_msg(either->levels == from_min->levels, "case %d: other sizes fitted", n);
        ck_assert_double_eq(either->bound, from_min->bound);
    }
    ck_assert_int_ge(known, 100);
}

TEST(packing_places_like_a_careful_person) {
    Packing packing({.node_gpus = {4, 2, -1, 4}, .gpus_per_node = 4});
    std::vector<NodeShare> where;
    ck_assert(packing.place(2, &where));
    ck_assert_int_eq(where[0].first, 1);  // best fit
    ck_assert(packing.place(8));
    ck_assert(!packing.place(1));
    const NodeShare held[] = {{0, 4}, {2, 4}};
    packing.give(held);  // node 2 is closed
    ck_assert(!packing.place(8));
    ck_assert_int_eq(packing.place_largest(1, 16), 4);
    ck_assert_int_eq(packing.free_gpus(), 0);
}

// Random takes, gives and places: the count of free GPUs stays right, and a refusal is never wrong.
TEST(packing_counts_right) {
    std::mt19937_64 random(7);
    for (int n = 0; n < 300; ++n) {
        const Capacity capacity = nodes(6, 8);
        Packing packing(capacity);
        std::vector<int> free(6, 8);
        std::vector<std::vector<NodeShare>> jobs;
        for (int k = 0; k < 200; ++k) {
            if (random() % 2 && !jobs.empty()) {
                const std::size_t j = random() % jobs.size();
                packing.give(jobs[j]);
                for (const auto &[node, gpus] : jobs[j])
                    free[static_cast<std::size_t>(node)] += gpus;
                jobs.erase(jobs.begin() + static_cast<long>(j));
            } else {
                const int gpus = 1 << (random() % 6);
                std::vector<NodeShare> where;
                const auto whole = std::count(free.begin(), free.end(), 8);
                const int most = *std::max_element(free.begin(), free.end());
                const bool expected = gpus <= 8 ? most >= gpus : whole * 8 >= gpus;
                ck_assert_int_eq(packing.place(gpus, &where), expected);
                for (const auto &[node, share] : where)
                    free[static_cast<std::size_t>(node)] -= share;
                if (expected) jobs.push_back(where);
            }
            ck_assert_int_eq(packing.free_gpus(), std::accumulate(free.begin(), free.end(), 0));
            ck_assert_int_ge(*std::min_element(free.begin(), free.end()), 0);
        }
    }
}

int main() {
    return ringrt::test::run_all(
        "growth", {a_likely_gain_changes_nothing_of_growth, either_start_is_known_without_both,
                   packing_places_like_a_careful_person, packing_counts_right});
}
