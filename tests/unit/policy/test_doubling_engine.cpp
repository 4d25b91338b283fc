// SPDX-License-Identifier: BSD-3-Clause
// The fast engine decides as the definition of doubling does; placement on nodes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/doubling.h"
#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/engine/size_table.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::policy;
using namespace ringrt::test;

namespace {

// Nodes of any size, some closed, some without GPUs for malleable jobs.
Capacity uneven_nodes(std::mt19937_64 &random) {
    Capacity capacity;
    const int usual = 1 + static_cast<int>(random() % 9);
    for (uint64_t count = 1 + random() % 24; count > 0; --count)
        capacity.node_gpus.push_back(random() % 4 ? usual : static_cast<int>(random() % 11) - 1);
    if (random() % 2) capacity.gpus_per_node = usual;
    return capacity;
}

// Sizes that do not divide into nodes, curves with equal gains, jobs off their ladder, jobs whose
// place is unknown.
Job any_job(std::mt19937_64 &random, uint32_t id) {
    constexpr int kMins[] = {1, 1, 1, 2, 3, 4, 5, 6, 12};
    Job job{.id = id};
    job.gpus_min = kMins[random() % std::size(kMins)];
    job.gpus_max = job.gpus_min << (random() % 6);
    if (random() % 8 == 0) job.gpus_max += static_cast<int>(random() % 3);
    job.submit_s = static_cast<double>(random() % 50);
    job.priority = static_cast<double>(random() % 3);
    job.weight = random() % 6 ? 1 : uniform(random, 0, 16);
    job.restart_s = random() % 3 ? uniform(random, 0, 60) : 0;
    if (random() % 5) job.steps_left = random() % 10 ? uniform(random, 0, 50000) : 0;
    job.steps_done = uniform(random, 0, 5000);
    job.speed.t = {uniform(random, 100, 2000), uniform(random, 0, 20), uniform(random, 0, 300),
                   uniform(random, 0, 200)};
    if (random() % 4 == 0) job.speed.t = {1000, 0, 0, 0};
    if (random() % 9 == 0) job.speed.t = {100, 300, 0, 0};
    if (random() % 9 == 0) job.gpus_cap = 1 << (random() % 5);
    return job;
}

std::vector<Job> any_jobs(std::mt19937_64 &random, const Capacity &capacity) {
    Packing packing(capacity);
    std::vector<Job> jobs;
    const uint64_t running = random() % 9;  // out of eight
    for (uint64_t count = random() % (random() % 4 ? 14 : 70); count > 0; --count) {
        Job &job = jobs.emplace_back(any_job(random, static_cast<uint32_t>(count)));
        job.pinned = random() % 12 == 0;
        if (random() % 8 >= running) continue;
        int gpus = job.gpus_min << (random() % 3);
        if (gpus > job.gpus_max || random() % 20 == 0) gpus = 1 + static_cast<int>(random() % 9);
        if (!packing.place(gpus, &job.held)) continue;
        job.gpus_now = gpus;
        job.by_parts = random() % 5 == 0;
        if (random() % 15 == 0) job.held.clear();
    }
    return jobs;
}

// Rigid jobs take GPUs back where malleable jobs run.
void take_back(std::mt19937_64 &random, Capacity &capacity) {
    for (int &gpus : capacity.node_gpus)
        if (random() % 4 == 0 && gpus > 0) {
            const int taken = 1 + static_cast<int>(random() % static_cast<uint64_t>(gpus));
            gpus -= taken;
            capacity.kept_for_rigid += taken;
        }
}

void expect_same(const std::vector<Job> &jobs, const Capacity &capacity, const Options &options,
                 int number) {
    const auto fast = decide_doubling_fast(jobs, capacity, options);
    const auto plain = decide_doubling(jobs, capacity, options);
    ck_assert_uint_eq(fast.size(), plain.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
        ck_assert_msg(fast[i].job_id == plain[i].job_id && fast[i].gpus == plain[i].gpus,
                      "case %d, rule %d, job %zu: %d GPUs, by definition %d", number,
                      int(options.gain), i, fast[i].gpus, plain[i].gpus);
        ck_assert_msg(fast[i].reason == plain[i].reason &&
                          fast[i].gain_s_per_gpu == plain[i].gain_s_per_gpu &&
                          fast[i].next_gpus == plain[i].next_gpus,
                      "case %d, rule %d, job %zu: other reasons", number, int(options.gain), i);
    }
}

}  // namespace

TEST(the_engine_decides_as_the_definition_does) {
    std::mt19937_64 random(21);
    for (int n = 0; n < 6000; ++n) {
        Capacity capacity = uneven_nodes(random);
        const std::vector<Job> jobs = any_jobs(random, capacity);
        if (random() % 3 == 0) take_back(random, capacity);
        Options options{.gain = kRules[n % 4]};
        if (random() % 4 == 0) options.payback = uniform(random, 0, 3);
        if (random() % 4 == 0) options.power = uniform(random, 0, 1);
        expect_same(jobs, capacity, options, n);
    }
}

// Many GPUs, and all jobs run: the growths are granted at once, and both proposals are equal.
TEST(the_engine_decides_as_the_definition_does_with_enough_gpus) {
    std::mt19937_64 random(22);
    for (int n = 0; n < 400; ++n) {
        const Capacity capacity = nodes(static_cast<int>(2 + random() % 60), 8);
        expect_same(running_jobs(random, capacity, 1 + random() % 120), capacity,
                    {.gain = kRules[n % 4]}, n);
    }
}

// Compares the table's answers with its own values, one by one.
TEST(best_growths_are_the_best) {
    std::mt19937_64 random(23);
    for (int n = 0; n < 1000; ++n) {
        const Options options{.gain = kRules[n % 4]};
        const std::vector<Job> jobs{any_job(random, 1)};
        const SizeTable table(jobs, nodes(8, 8), options);
        for (Level from = 0; from <= table.row(0).top; ++from) {
            double best = 0;
            for (Level to = static_cast<Level>(from + 1); to <= table.row(0).top; ++to) {
                ck_assert_double_eq(table.value(0, to), value(jobs[0], table.gpus(0, to), options));
                best = std::max(best, (table.value(0, to) - table.value(0, from)) /
                                          (table.gpus(0, to) - table.gpus(0, from)));
                if (options.gain == GainRule::absolute) break;
            }
            const Growth growth = table.best_growth(0, from, 30);
            ck_assert_double_le(std::abs(growth.gain - best), 1e-12 * best);
            ck_assert_int_eq(growth.to != kWaits, best > 0);
        }
    }
}

TEST(packing_takes_the_fullest_node_that_fits) {
    Packing packing({.node_gpus = {4, 2, -1, 4}, .gpus_per_node = 4});
    std::vector<NodeShare> where;
    ck_assert(packing.place(2, &where));
    ck_assert_int_eq(where[0].first, 1);  // best fit
    ck_assert(packing.place(8));
    ck_assert(!packing.place(1));
    const NodeShare held[] = {{0, 4}, {2, 4}};
    packing.release(held);  // node 2 is closed
    ck_assert(!packing.place(8));
    ck_assert_int_eq(packing.place_largest({1, 16}), 4);
    ck_assert_int_eq(packing.free_gpus(), 0);
}

// As Slurm distributes tasks: six GPUs are three and three, and no node has two left.
TEST(packing_distributes_gpus_evenly) {
    using Shares = std::vector<NodeShare>;
    Packing packing({.node_gpus = {4, 4}, .gpus_per_node = 4});
    Shares where;
    ck_assert(packing.place(6, &where));
    ck_assert((where == Shares{{0, 3}, {1, 3}}));
    ck_assert(!packing.place(2));
    ck_assert(packing.place(1) && packing.place(1) && !packing.place(1));
    Packing three({.node_gpus = {6, 6, 6}, .gpus_per_node = 6});
    where.clear();
    ck_assert(three.place(15, &where) && three.free_gpus() == 3);
    ck_assert((where == Shares{{0, 5}, {1, 5}, {2, 5}}));
    three.release(where);
    ck_assert(!three.place(16) && three.free_gpus() == 18);  // which only four nodes share evenly
    Packing four({.node_gpus = {6, 6, 6, 6}, .gpus_per_node = 6});
    ck_assert(four.place(16) && four.place(2) && four.free_gpus() == 6);
}

// Eight GPUs are four on each of two nodes of six, also where others hold the rest.
TEST(packing_shares_the_nodes_that_a_job_does_not_fill) {
    using Shares = std::vector<NodeShare>;
    const Capacity capacity{.node_gpus = {6, 4, 3, 5}, .gpus_per_node = 6};
    Packing packing(capacity);
    Shares where;
    ck_assert(packing.place(8, &where));
    ck_assert((where == Shares{{1, 4}, {3, 4}}));  // best fit
    ck_assert(!packing.place(8) && packing.free_gpus() == 10);
    ck_assert(packing.place(6) && packing.place(3) && packing.place(1) && !packing.place(1));
    BlockBound room(capacity);
    ck_assert(room.fits(8) && !room.fits(12) && !room.fits(16));
    room.change(0, 8);
    ck_assert(!room.fits(8) && room.fits(4) && !room.is_over());
}

// What has a place is never refused, whatever the sizes of nodes and jobs.
TEST(the_bound_refuses_nothing_that_has_a_place) {
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        const auto below = [&](int n) { return static_cast<int>(random() % n); };
        Capacity capacity{.gpus_per_node = 1 + below(24)};
        for (int nodes = 1 + below(6); nodes > 0; --nodes)
            capacity.node_gpus.push_back(below(4) > 0 ? capacity.gpus_per_node
                                                      : below(capacity.gpus_per_node + 1));
        Packing packing(capacity);
        BlockBound room(capacity);
        for (int job = 0; job < 20; ++job) {
            const int gpus = 1 + below(2 * capacity.gpus_per_node);
            const bool fits = room.fits(gpus);
            if (!packing.place(gpus)) continue;
            ck_assert_msg(fits, "round %d: %d GPUs on nodes of %d", round, gpus,
                          capacity.gpus_per_node);
            room.change(0, gpus);
            ck_assert(!room.is_over());
        }
    }
}

// Two jobs of three GPUs on a node of six, for example.
TEST(the_bound_counts_jobs_of_one_size_exactly) {
    for (int node = 1; node <= 16; ++node)
        for (int gpus = 1; gpus <= std::min(node, 8); ++gpus) {
            BlockBound room(Capacity{.node_gpus = {node, node - 1, node}, .gpus_per_node = node});
            int jobs = 0;
            for (; room.fits(gpus); ++jobs) room.change(0, gpus);
            ck_assert_int_eq(jobs, 2 * (node / gpus) + (node - 1) / gpus);
        }
}

// Two GPUs on each node, even if one node has room for all.
TEST(packing_separates_what_a_layout_separates) {
    Packing packing({.node_gpus = {4, 1, 2, -1, 4}, .gpus_per_node = 4});
    ck_assert(!packing.place_apart(8, 2));
    ck_assert_int_eq(packing.free_gpus(), 11);
    ck_assert(packing.place_apart(4, 2));  // on node 2, and on one of the nodes with four
    ck_assert_int_eq(packing.free_gpus(), 7);
    ck_assert(packing.place_apart(4, 2));
    ck_assert(!packing.place(4) && !packing.place_apart(4, 2));
    ck_assert(packing.place_apart(1, 2) && packing.place(2));
    ck_assert_int_eq(packing.free_gpus(), 0);
}

// One GPU on each of two nodes and two on a third: even parts, on as few nodes as possible.
TEST(packing_finds_even_parts_on_scattered_gpus) {
    Packing packing(Capacity{.node_gpus = {1, 0, 1, 2, -1}, .gpus_per_node = 4});
    std::vector<NodeShare> where;
    ck_assert_int_eq(packing.place_evenly(2, 4, &where), 1);
    ck_assert(where == (std::vector<NodeShare>{{3, 2}}));
    where.clear();
    ck_assert_int_eq(packing.place_evenly(2, 4, &where), 2);
    ck_assert(where == (std::vector<NodeShare>{{0, 1}, {2, 1}}));
    ck_assert_int_eq(packing.place_evenly(1, 4), 0);
    Packing wide(Capacity{.node_gpus = {4, 4}});
    ck_assert_int_eq(wide.place_evenly(4, 2), 2);  // a node's CPUs, for example, set such a limit
    Packing parts(Capacity{.node_gpus = {1, 0, 1, 2, -1}, .gpus_per_node = 4});
    ck_assert(!parts.place_doublings(1, 8));  // 1, 2 and 4
    ck_assert_int_eq(parts.free_gpus(), 4);
    ck_assert(parts.place_doublings(2, 4));
    ck_assert_int_eq(parts.free_gpus(), 2);
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
                packing.release(jobs[j]);
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

int main() { return ringrt::test::run_all("doubling_engine"); }
