// SPDX-License-Identifier: BSD-3-Clause
// What every policy promises, on random jobs: no GPU given twice, sizes within their bounds, the
// same answer for the same question, nobody idle for nothing. And doubling against the exact
// optimum.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/baselines.h"
#include "slurm_plugin/policy/doubling.h"
#include "slurm_plugin/policy/optimum.h"
#include "slurm_plugin/policy/placement.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::policy;
using namespace ringrt::test;

namespace {

struct Named {
    const char *name;
    Decide decide;
    bool malleable;  // sizes on the ladder, none stopped
};

constexpr Named kAll[] = {
    {"fifo", decide_fifo, false},         {"srtf", decide_srtf, false},
    {"tiresias", decide_tiresias, false}, {"optimus", decide_optimus, false},
    {"afs", decide_afs, false},           {"doubling", decide_doubling, true},
    {"optimum", decide_optimum, true},
};

}  // namespace

TEST(no_gpu_is_given_twice_and_sizes_keep_their_bounds) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const Capacity capacity = nodes(1 + random() % 8, 4);
        const std::vector<Job> jobs = random_jobs(random, 1 + random() % 30, total_gpus(capacity));
        for (const Named &policy : kAll)
            for (const GainRule rule : kRules) {
                const auto out = policy.decide(jobs, capacity, {.gain = rule});
                ck_assert_uint_eq(out.size(), jobs.size());
                ck_assert_msg(sum(out) <= total_gpus(capacity), "%s gave %d of %d GPUs",
                              policy.name, sum(out), total_gpus(capacity));
                for (std::size_t i = 0; i < out.size(); ++i) {
                    ck_assert_msg(out[i].job_id == jobs[i].id, "%s: order", policy.name);
                    ck_assert_msg(out[i].gpus >= 0 && out[i].gpus <= jobs[i].gpus_max,
                                  "%s: %d GPUs of %d", policy.name, out[i].gpus, jobs[i].gpus_max);
                    if (policy.malleable && out[i].gpus > 0)
                        ck_assert_msg(on_ladder(jobs[i], out[i].gpus), "%s: %d is off the ladder",
                                      policy.name, out[i].gpus);
                }
            }
    }
}

TEST(the_same_question_has_the_same_answer) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 50; ++round) {
        const Capacity capacity = nodes(4, 4);
        const std::vector<Job> jobs = random_jobs(random, 20, 16);
        for (const Named &policy : kAll) {
            const auto first = policy.decide(jobs, capacity, {});
            const auto second = policy.decide(jobs, capacity, {});
            for (std::size_t i = 0; i < jobs.size(); ++i)
                ck_assert_int_eq(first[i].gpus, second[i].gpus);
        }
    }
}

// Where a job waits, no policy leaves enough GPUs free for it (FIFO may, for its reservation).
TEST(nobody_waits_for_nothing) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round) {
        const Capacity capacity = nodes(4, 4);
        const std::vector<Job> jobs = random_jobs(random, 1 + random() % 40, 16);
        for (const Named &policy : kAll) {
            if (policy.decide == decide_fifo) continue;
            const auto out = policy.decide(jobs, capacity, {.gain = GainRule::short_first});
            const int left = total_gpus(capacity) - sum(out);
            const bool one_gpu_starts =
                policy.malleable || policy.decide == decide_optimus || policy.decide == decide_afs;
            for (std::size_t i = 0; i < out.size(); ++i)
                if (out[i].gpus == 0)
                    ck_assert_msg(left < (one_gpu_starts ? 1 : rigid_size(jobs[i])),
                                  "%s: job %u waits beside %d free GPUs", policy.name, jobs[i].id,
                                  left);
        }
    }
}

// A decision that was carried out is the next decision too: no flapping while nothing changes.
TEST(doubling_does_not_flap) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 100; ++round)
        for (const GainRule rule : kRules) {
            const Capacity capacity = nodes(1, 64);
            std::vector<Job> jobs = random_jobs(random, 1 + random() % 20, 16);
            const Options options{.gain = rule};
            const auto first = decide_doubling(jobs, capacity, options);
            for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].gpus_now = first[i].gpus;
            const auto second = decide_doubling(jobs, capacity, options);
            for (std::size_t i = 0; i < jobs.size(); ++i)
                ck_assert_msg(first[i].gpus == second[i].gpus, "rule %d: %d GPUs, then %d",
                              int(rule), first[i].gpus, second[i].gpus);
        }
}

TEST(the_optimum_is_never_worse_and_doubling_is_near) {
    std::mt19937_64 random(5);
    double gaps = 0, worst = 0;
    int graded = 0;
    for (int round = 0; round < 200; ++round) {
        const Capacity capacity = nodes(1, 32);
        const std::vector<Job> jobs = random_jobs(random, 1 + random() % 25, 16);
        const Options options{.gain = GainRule::short_first};
        const auto greedy = decide_doubling(jobs, capacity, options);
        const auto best = decide_optimum(jobs, capacity, options);
        const Worth got = worth_of(jobs, greedy, options), most = worth_of(jobs, best, options);
        ck_assert_int_ge(most.served, got.served);
        if (most.served == got.served) ck_assert_double_ge(most.sum, got.sum - 1e-9);
        const double gap = gap_to_optimum(jobs, greedy, capacity, options);
        gaps += gap;
        worst = std::max(worst, gap);
        ++graded;
    }
    ck_assert_double_le(gaps / graded, 0.01);
    ck_assert_double_le(worst, 0.10);
}

// Of thousands of jobs, growths are granted at once; the result is that of the heap, which few jobs
// get: the same jobs on the same GPUs, where half of them are pinned to sizes that leave the rest
// alone.
TEST(many_jobs_are_decided_as_few) {
    std::mt19937_64 random(10);
    for (int round = 0; round < 40; ++round)
        for (const GainRule rule : kRules) {
            std::vector<Job> few = random_jobs(random, 200, 16), many = few;
            for (uint32_t i = 0; i < 100; ++i) {
                Job job{.id = 1000 + i, .gpus_now = 1, .pinned = true};
                job.held = {{128, 1}};
                many.push_back(job);
            }
            Capacity small = nodes(64, 8), large = small;
            large.node_gpus.resize(128, 0);
            large.node_gpus.push_back(100);
            large.gpus_per_node = 8;
            const auto one = decide_doubling(few, small, {.gain = rule});
            const auto other = decide_doubling(many, large, {.gain = rule});
            for (std::size_t i = 0; i < few.size(); ++i)
                ck_assert_msg(one[i].gpus == other[i].gpus, "rule %d, job %zu: %d and %d GPUs",
                              int(rule), i, one[i].gpus, other[i].gpus);
        }
}

// The limit of every rule that resizes jobs but does not move them: half a node is free on each of
// two, and the optimum, which knows no nodes, counts a whole one.
TEST(moving_nobody_has_a_price) {
    std::vector<Job> jobs(3);
    for (int i = 0; i < 2; ++i) {
        jobs[std::size_t(i)] = {.id = uint32_t(i + 1), .gpus_min = 2, .gpus_max = 2, .gpus_now = 2};
        jobs[std::size_t(i)].held = {{i, 2}};
        jobs[std::size_t(i)].weight = 1e-6;
    }
    jobs[2] = {.id = 3, .gpus_max = 4};
    jobs[2].speed.t = {1000, 0, 0, 0};
    for (Job &job : jobs) job.steps_left = 1000;
    const Options options{.gain = GainRule::short_first};
    const auto out = decide_doubling(jobs, nodes(2, 4), options);
    ck_assert_int_eq(out[2].gpus, 2);
    ck_assert_double_eq_tol(gap_to_optimum(jobs, out, nodes(2, 4), options), 0.5, 0.001);
}

// VGG-16 on 10 Gb/s: two GPUs are slower than one, eight are faster.
TEST(nodes_that_take_nobody_count_nothing) {
    std::mt19937_64 random(9);
    std::vector<Job> jobs = random_jobs(random, 3, 4);
    jobs[0].gpus_now = 2;
    jobs[0].pinned = true;
    const Capacity closed{.node_gpus = {-1, -1, -1}, .gpus_per_node = 4};
    Capacity open = closed;
    open.node_gpus.push_back(4);
    ck_assert_int_eq(total_gpus(closed), 0);
    ck_assert_int_eq(total_gpus(open), 4);
    for (const GainRule rule : kRules) {
        ck_assert_int_eq(sum(decide_doubling(jobs, closed, {.gain = rule})), 2);
        ck_assert_int_le(sum(decide_optimum(jobs, closed, {.gain = rule})), 2);
        ck_assert_int_eq(sum(decide_optimum(jobs, open, {.gain = rule})), 4);
    }
}

TEST(hull_escapes_a_first_doubling_that_loses) {
    const std::vector<float> curve{600, 1250, 900, 629, 550, 480, 400, 313};
    Job job{.id = 1, .gpus_max = 8, .steps_left = 10000};
    job.curve_ms = curve;
    const Capacity capacity = nodes(1, 8);
    const std::vector<Job> jobs{job};
    ck_assert_int_eq(decide_doubling(jobs, capacity, {.gain = GainRule::absolute})[0].gpus, 1);
    ck_assert_int_eq(decide_doubling(jobs, capacity, {.gain = GainRule::hull})[0].gpus, 8);
}

// The first in the queue waits for 8; a later job of 4 may run only if it ends before.
TEST(backfill_does_not_delay_the_first_in_the_queue) {
    std::vector<Job> jobs(3);
    for (std::size_t i = 0; i < 3; ++i) jobs[i] = {.id = uint32_t(i + 1), .gpus_max = 8};
    jobs[0].gpus_now = jobs[0].gpus_asked = 4;
    jobs[0].time_left_s = 100;
    jobs[1].gpus_asked = 8;
    jobs[1].submit_s = 1;
    jobs[2].gpus_asked = 4;
    jobs[2].submit_s = 2;
    jobs[2].time_left_s = 101;
    ck_assert_int_eq(decide_fifo(jobs, nodes(2, 4), {})[2].gpus, 0);
    jobs[2].time_left_s = 100;
    ck_assert_int_eq(decide_fifo(jobs, nodes(2, 4), {})[2].gpus, 4);
}

TEST(tiresias_puts_small_service_first) {
    std::vector<Job> jobs(2);
    for (std::size_t i = 0; i < 2; ++i) jobs[i] = {.id = uint32_t(i + 1), .gpus_max = 4};
    jobs[0].attained_gpu_s = 16 * 3600;
    jobs[0].gpus_now = 4;
    const auto out = decide_tiresias(jobs, nodes(1, 4), {});
    ck_assert_int_eq(out[0].gpus, 0);
    ck_assert_int_eq(out[1].gpus, 4);
}

int main() {
    return ringrt::test::run_all(
        "policies",
        {no_gpu_is_given_twice_and_sizes_keep_their_bounds, the_same_question_has_the_same_answer,
         nobody_waits_for_nothing, doubling_does_not_flap, nodes_that_take_nobody_count_nothing,
         the_optimum_is_never_worse_and_doubling_is_near, moving_nobody_has_a_price,
         hull_escapes_a_first_doubling_that_loses, many_jobs_are_decided_as_few,
         backfill_does_not_delay_the_first_in_the_queue, tiresias_puts_small_service_first});
}
