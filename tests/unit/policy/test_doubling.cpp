// SPDX-License-Identifier: BSD-3-Clause
// What doubling decides: its promises, what must pay off, and how near the exact optimum it comes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/engine/knapsack.h"
#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/value.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::policy;
using namespace ringrt::test;

namespace {

constexpr Options kPaper{};  // the absolute rule

Job job(uint32_t id, int min, int max, double steps, int now = 0) {
    return {.id = id,
            .gpus_min = min,
            .gpus_max = max,
            .gpus_now = now,
            .submit_s = 1.0 * id,
            .steps_left = steps,
            .restart_s = 10,
            .speed = ringrt::model::default_speed_model()};
}

Job random_job(std::mt19937_64 &random, uint32_t id) {
    const int min = 1 << (random() % 3);
    Job j = job(id, min, min << (random() % 5), uniform(random, 0, 20000));
    j.priority = static_cast<double>(random() % 3);
    j.submit_s = static_cast<double>(random() % 100);
    j.restart_s = uniform(random, 0, 60);
    j.speed.t = {uniform(random, 100, 2000), uniform(random, 0, 20), uniform(random, 0, 300),
                 uniform(random, 0, 200)};
    if (random() % 5 == 0) j.steps_left = kUnknown;
    return j;
}

// Places some of the jobs on nodes.
void place_some(std::mt19937_64 &random, std::vector<Job> &jobs, const Capacity &capacity) {
    Packing packing(capacity);
    for (Job &j : jobs) {
        if (random() % 3 == 0) continue;
        std::vector<NodeShare> where;
        int size = j.gpus_max;
        while (size > j.gpus_min && random() % 2) size /= 2;
        if (!packing.place(size, &where)) continue;
        j.gpus_now = size;
        j.held = where;
        j.pinned = random() % 8 == 0;
    }
}

std::vector<Allotment> decide(const std::vector<Job> &jobs, const Capacity &capacity,
                              const Options &options = kPaper) {
    return decide_doubling_fast(jobs, capacity, options);
}

double objective(const std::vector<Job> &jobs, const std::vector<int> &sizes) {
    double sum = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) sum += remaining_s(jobs[i], sizes[i], kPaper);
    return sum;
}

// The least sum of remaining times over all ladder sizes that add up to at most `gpus`.
double optimum(const std::vector<Job> &jobs, std::size_t from, int gpus) {
    if (from == jobs.size()) return 0;
    double best = std::numeric_limits<double>::infinity();
    for (int w = jobs[from].gpus_min; w <= std::min(jobs[from].gpus_max, gpus); w *= 2)
        best =
            std::min(best, remaining_s(jobs[from], w, kPaper) + optimum(jobs, from + 1, gpus - w));
    return best;
}

}  // namespace

TEST(doubling_keeps_its_promises) {
    std::mt19937_64 random(3);
    for (int n = 0; n < 5000; ++n) {
        const Capacity capacity = nodes(1 + static_cast<int>(random() % 8), 1 << (random() % 4));
        std::vector<Job> jobs;
        for (int i = static_cast<int>(random() % 12); i > 0; --i)
            jobs.push_back(random_job(random, static_cast<uint32_t>(i)));
        place_some(random, jobs, capacity);
        const auto out = decide(jobs, capacity);
        ck_assert_uint_eq(out.size(), jobs.size());
        Packing packing(capacity);
        std::vector<int> moved;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const Job &j = jobs[i];
            ck_assert_uint_eq(out[i].job_id, j.id);
            ck_assert(out[i].reason != Reason::none);
            ck_assert_msg(out[i].gpus == 0 || j.ladder().contains(out[i].gpus), "%d GPUs",
                          out[i].gpus);
            ck_assert(j.gpus_now == 0 || out[i].gpus > 0);
            if (j.pinned && j.gpus_now > 0) ck_assert_int_eq(out[i].gpus, j.gpus_now);
            if (out[i].gpus > 0 && out[i].gpus == j.gpus_now)
                packing.occupy(j.held);
            else if (out[i].gpus > 0)
                moved.push_back(out[i].gpus);
            ck_assert(!explain(j, out[i], kPaper).empty());
        }
        std::sort(moved.rbegin(), moved.rend());
        for (const int gpus : moved)
            ck_assert_msg(packing.place(gpus), "case %d: %d GPUs find no place", n, gpus);
    }
}

TEST(doubling_does_not_depend_on_the_order) {
    std::mt19937_64 random(4);
    for (int n = 0; n < 1000; ++n) {
        const Capacity capacity = nodes(4, 4);
        std::vector<Job> jobs;
        for (uint32_t i = 1; i <= 8; ++i) jobs.push_back(random_job(random, i));
        place_some(random, jobs, capacity);
        const auto out = decide(jobs, capacity);
        std::vector<std::size_t> order(jobs.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        std::vector<Job> shuffled;
        for (const std::size_t i : order) shuffled.push_back(jobs[i]);
        const auto again = decide(shuffled, capacity);
        for (std::size_t i = 0; i < order.size(); ++i) {
            ck_assert_int_eq(again[i].gpus, out[order[i]].gpus);
            ck_assert(again[i].reason == out[order[i]].reason);
        }
    }
}

// Carried out, a decision repeats: nothing flaps.
TEST(doubling_repeats_its_own_decision) {
    std::mt19937_64 random(5);
    for (int n = 0; n < 2000; ++n) {
        const Capacity capacity = nodes(4, 4);
        std::vector<Job> jobs;
        for (uint32_t i = 1; i <= 6; ++i) {
            jobs.push_back(random_job(random, i));
            jobs.back().restart_s = uniform(random, 5, 60);
        }
        for (int round = 0; round < 4; ++round) {
            const auto out = decide(jobs, capacity);
            int changes = 0;
            Packing packing(capacity);
            for (std::size_t i = 0; i < jobs.size(); ++i)
                if (out[i].gpus == jobs[i].gpus_now) packing.occupy(jobs[i].held);
            std::vector<std::size_t> moved;
            for (std::size_t i = 0; i < jobs.size(); ++i)
                if (out[i].gpus != jobs[i].gpus_now) moved.push_back(i);
            std::stable_sort(moved.begin(), moved.end(),
                             [&](auto a, auto b) { return out[a].gpus > out[b].gpus; });
            for (const std::size_t i : moved) {
                ++changes;
                jobs[i].gpus_now = out[i].gpus;
                jobs[i].held.clear();
                ck_assert(out[i].gpus == 0 || packing.place(out[i].gpus, &jobs[i].held));
            }
            if (changes == 0) break;
            ck_assert_msg(round < 3, "case %d: still changing after three rounds", n);
        }
    }
}

TEST(doubling_is_near_the_optimum) {
    std::mt19937_64 random(6);
    double worst = 0, sum = 0;
    const int cases = 1000;
    for (int n = 0; n < cases; ++n) {
        std::vector<Job> jobs;
        for (uint32_t i = 1; i <= 5; ++i) {
            jobs.push_back(random_job(random, i));
            jobs.back().gpus_min = 1;
            jobs.back().gpus_max = 16;
            jobs.back().steps_left = uniform(random, 100, 20000);
        }
        const Capacity capacity = nodes(1, 16);
        std::vector<int> sizes;
        for (const Allotment &a : decide(jobs, capacity)) sizes.push_back(a.gpus);
        const double gap = objective(jobs, sizes) / optimum(jobs, 0, total_gpus(capacity)) - 1;
        ck_assert_msg(gap > -1e-9, "better than the optimum: %g", gap);
        worst = std::max(worst, gap);
        sum += gap;
    }
    printf("doubling against the optimum, %d cases: mean gap %.2f %%, worst %.1f %%\n", cases,
           100 * sum / cases, 100 * worst);
    ck_assert_msg(sum / cases < 0.01 && worst < 0.25, "mean %g, worst %g", sum / cases, worst);
}

TEST(first_gpus_go_by_priority_and_arrival) {
    std::vector<Job> jobs{job(1, 2, 8, 1e4), job(2, 2, 8, 10), job(3, 2, 8, 1e5)};
    jobs[2].priority = 1;
    const auto out = decide(jobs, nodes(1, 4));
    ck_assert_int_eq(out[2].gpus, 2);
    ck_assert_int_eq(out[0].gpus, 2);
    ck_assert_int_eq(out[1].gpus, 0);
    ck_assert(out[1].reason == Reason::waits);
}

// The first job's fit is 100 ms for each GPU but the first: nothing on one.
TEST(a_job_that_slows_down_with_each_gpu_blocks_no_other) {
    std::vector<Job> jobs{job(1, 1, 2, 1e5, 1), job(2, 1, 4, 1e5, 1), job(3, 1, 4, 1e5, 4)};
    jobs[0].held = jobs[1].held = {{0, 1}};
    jobs[2].held = {{0, 4}};
    jobs[0].speed =
        ringrt::model::fit_speed_model(std::vector<ringrt::model::SpeedSample>{{2, 100}, {4, 350}});
    ck_assert_double_eq(jobs[0].speed.step_ms(1), 0);
    jobs[2].speed.t = {100, 0, 0, 900};  // gains almost nothing beyond four
    for (const GainRule rule :
         {GainRule::absolute, GainRule::relative, GainRule::short_first, GainRule::hull}) {
        const Options options{.gain = rule};
        for (const int gpus : {1, 2}) ck_assert(std::isfinite(value(jobs[0], gpus, options)));
        ck_assert_int_gt(decide(jobs, nodes(1, 6), options)[1].gpus, 1);
    }
}

TEST(a_growth_must_pay_for_its_restart) {
    std::vector<Job> jobs{job(1, 1, 8, 100, 1)};
    jobs[0].held = {{0, 1}};
    jobs[0].restart_s = 60;  // 1 -> 2 saves 45 s of 100
    ck_assert_int_eq(decide(jobs, nodes(1, 8))[0].gpus, 1);
    ck_assert(decide(jobs, nodes(1, 8))[0].reason == Reason::restart_cost);
    jobs[0].restart_s = 30;
    ck_assert_int_gt(decide(jobs, nodes(1, 8))[0].gpus, 1);
    Options careful = kPaper;
    careful.payback = 3;
    ck_assert_int_eq(decide(jobs, nodes(1, 8), careful)[0].gpus, 1);
}

// Whatever a rule makes of a nearly finished job, a stop that costs more than it saves is refused.
// A site's restart may take many minutes. It is then rare, but a long job must still use idle GPUs.
TEST(a_long_job_grows_whatever_a_restart_takes) {
    for (const GainRule gain : {GainRule::relative, GainRule::short_first}) {
        for (const double restart_s : {10.0, 121.0, 250.0, 600.0, 3600.0}) {
            Job j = job(1, 1, 8, 0, 1);
            j.held = {{0, 1}};
            j.speed.t = {1000, 0, 0, 0};  // linear, one second on one GPU
            j.restart_s = restart_s;
            j.steps_left = 20 * restart_s;
            const Options options{.gain = gain};
            ck_assert_int_eq(decide({j}, nodes(1, 2), options)[0].gpus, 2);
            j.steps_left = restart_s;
            ck_assert_int_eq(decide({j}, nodes(1, 2), options)[0].gpus, 1);
        }
    }
}

TEST(a_nearly_finished_job_is_not_stopped_to_grow) {
    for (const GainRule rule :
         {GainRule::absolute, GainRule::relative, GainRule::short_first, GainRule::hull}) {
        Options options = kPaper;
        options.gain = rule;
        std::vector<Job> jobs{job(1, 1, 16, 1.3, 8)};
        jobs[0].held = {{0, 4}, {1, 4}};
        jobs[0].restart_s = 2.5;
        ck_assert_msg(decide(jobs, nodes(4, 4), options)[0].gpus == 8, "rule %d",
                      static_cast<int>(rule));
        ck_assert(decide(jobs, nodes(4, 4), options)[0].reason == Reason::restart_cost);
    }
}

TEST(a_shrink_for_another_must_pay_both_restarts) {
    std::vector<Job> jobs{job(1, 1, 4, 1000, 4), job(2, 1, 4, 1300, 1)};
    jobs[0].held = {{0, 4}};
    jobs[1].held = {{1, 1}};
    const Capacity capacity{.node_gpus = {4, 1}, .gpus_per_node = 4};
    for (Job &j : jobs) j.restart_s = 500;
    auto out = decide(jobs, capacity);
    ck_assert_int_eq(out[0].gpus, 4);
    ck_assert_int_eq(out[1].gpus, 1);
    for (Job &j : jobs) j.restart_s = 1;
    out = decide(jobs, capacity);
    ck_assert_int_eq(out[0].gpus + out[1].gpus, 4);
    ck_assert(out[0].reason == Reason::gave_to_other);
}

TEST(an_overcommitted_node_shrinks_only_its_own_jobs) {
    std::vector<Job> jobs{job(1, 1, 4, 1e4, 4), job(2, 1, 4, 10, 4), job(3, 1, 4, 1e4, 4)};
    for (int i = 0; i < 3; ++i) jobs[static_cast<std::size_t>(i)].held = {{i, 4}};
    const Capacity capacity{.node_gpus = {2, 4, 4}, .gpus_per_node = 4, .kept_for_rigid = 2};
    const auto out = decide(jobs, capacity);
    ck_assert_int_eq(out[0].gpus, 2);
    ck_assert(out[0].reason == Reason::gave_to_rigid);
    ck_assert_int_eq(out[1].gpus, 4);
    ck_assert_int_eq(out[2].gpus, 4);
}

// A rigid job waits for one GPU of a full node. A job there must give, even if the exact optimum of
// few jobs, which ignores nodes, would leave all of them unchanged.
TEST(a_full_node_gives_a_gpu_back) {
    std::mt19937_64 random(9);
    for (int round = 0; round < 500; ++round)
        for (const GainRule rule : kRules) {
            Capacity capacity = nodes(8, 4);
            std::vector<Job> jobs = running_jobs(random, capacity, 1 + random() % 8);
            std::vector<int> held(8), least(8);
            for (const Job &job : jobs) {
                int min = job.gpus_min;
                for (const auto &[node, gpus] : job.held) {
                    held[static_cast<std::size_t>(node)] += gpus;
                    least[static_cast<std::size_t>(node)] += std::min(min, gpus);
                    min -= std::min(min, gpus);
                }
            }
            const std::size_t node = random() % 8;
            if (held[node] < 4 || least[node] == 4) continue;
            capacity.node_gpus[node] = 3;
            capacity.kept_for_rigid = 1;
            const auto out = decide_doubling_fast(jobs, capacity, {.gain = rule});
            int stays = 0;
            for (std::size_t i = 0; i < jobs.size(); ++i)
                if (jobs[i].gpus_now > 0 && out[i].gpus == jobs[i].gpus_now)
                    for (const auto &[where, gpus] : jobs[i].held)
                        stays += static_cast<std::size_t>(where) == node ? gpus : 0;
            ck_assert_msg(stays <= 3, "round %d, rule %d: %d GPUs stay", round, int(rule), stays);
            ck_assert_int_le(sum(out), 31);
        }
}

TEST(off_ladder_and_pinned_jobs_are_left_alone) {
    std::vector<Job> jobs{job(1, 2, 8, 1e5, 3), job(2, 1, 8, 1e5, 1)};
    jobs[1].pinned = true;
    const auto out = decide(jobs, nodes(4, 4));
    ck_assert_int_eq(out[0].gpus, 3);
    ck_assert_int_eq(out[1].gpus, 1);
    ck_assert(out[0].reason == Reason::pinned && out[1].reason == Reason::pinned);
}

TEST(no_growth_without_a_speedup) {
    std::vector<Job> jobs{job(1, 1, 8, 1e5)};
    jobs[0].speed.t = {100, 200, 0, 0};
    const auto out = decide(jobs, nodes(2, 4));
    ck_assert_int_eq(out[0].gpus, 1);
    ck_assert(out[0].reason == Reason::no_gain);
}

// A decision that was carried out is the next decision as well: no flapping while nothing changes.
TEST(doubling_does_not_flap) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 100; ++round)
        for (const GainRule rule : kRules) {
            const Capacity capacity = nodes(1, 64);
            std::vector<Job> jobs = random_jobs(random, 1 + random() % 20, 16);
            const Options options{.gain = rule};
            const auto first = decide_doubling_fast(jobs, capacity, options);
            for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].gpus_now = first[i].gpus;
            const auto second = decide_doubling_fast(jobs, capacity, options);
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
        const auto greedy = decide_doubling_fast(jobs, capacity, options);
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

// The limit of every rule that resizes jobs but does not move them: half a node is free on each of
// two, and the optimum, which ignores nodes, counts a whole one.
TEST(moving_no_job_has_a_price) {
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
    const auto out = decide_doubling_fast(jobs, nodes(2, 4), options);
    ck_assert_int_eq(out[2].gpus, 2);
    ck_assert_double_eq_tol(gap_to_optimum(jobs, out, nodes(2, 4), options), 0.5, 0.001);
}

// VGG-16 on 10 Gb/s: two GPUs are slower than one, eight are faster.
TEST(hull_escapes_a_first_doubling_that_loses) {
    const std::vector<float> curve{600, 1250, 900, 629, 550, 480, 400, 313};
    Job job{.id = 1, .gpus_max = 8, .steps_left = 10000};
    job.curve_ms = curve;
    const Capacity capacity = nodes(1, 8);
    const std::vector<Job> jobs{job};
    ck_assert_int_eq(decide_doubling_fast(jobs, capacity, {.gain = GainRule::absolute})[0].gpus, 1);
    ck_assert_int_eq(decide_doubling_fast(jobs, capacity, {.gain = GainRule::hull})[0].gpus, 8);
}

int main() { return ringrt::test::run_all("doubling"); }
