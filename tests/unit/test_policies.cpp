// SPDX-License-Identifier: BSD-3-Clause
// What every policy promises, on random jobs: no GPU given twice, sizes within their bounds, the
// same answer for the same question, nobody idle for nothing. And doubling against the exact
// optimum.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/baselines.h"
#include "slurm_plugin/policy/doubling.h"
#include "slurm_plugin/policy/loss_model.h"
#include "slurm_plugin/policy/optimum.h"
#include "slurm_plugin/policy/placement.h"
#include "slurm_plugin/policy/placement_model.h"
#include "tests/support/check.h"

using namespace ringrt::policy;

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
constexpr GainRule kRules[] = {GainRule::absolute, GainRule::relative, GainRule::short_first,
                               GainRule::hull};

double uniform(std::mt19937_64 &random, double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
}

std::vector<Job> random_jobs(std::mt19937_64 &random, std::size_t count, int gpus_max) {
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < count; ++i) {
        Job job{.id = static_cast<uint32_t>(i + 1)};
        job.gpus_max = 1 << (random() % 5);
        job.gpus_max = std::min(job.gpus_max, gpus_max);
        job.gpus_asked = job.gpus_max;
        job.submit_s = double(i);
        job.steps_left = uniform(random, 1, 50000);
        job.attained_gpu_s = uniform(random, 0, 100000);
        job.restart_s = uniform(random, 0, 60);
        job.speed.t = {uniform(random, 100, 2000), uniform(random, 0, 20), uniform(random, 0, 300),
                       uniform(random, 0, 200)};
        jobs.push_back(job);
    }
    return jobs;
}

Capacity nodes(int count, int gpus) { return {.node_gpus = std::vector<int>(count, gpus)}; }

int sum(const std::vector<Allotment> &out) {
    return std::accumulate(out.begin(), out.end(), 0,
                           [](int total, const Allotment &a) { return total + a.gpus; });
}

// Carries a decision out: who changes leaves for another place, the largest first. With `stay_close`,
// who shrinks keeps a part of its own, and who grows leaves only for a larger one that is free.
// False: somebody finds no place; who that is stays as it was.
bool seat(std::vector<Job> &jobs, const std::vector<Allotment> &out, const Capacity &capacity,
          bool stay_close) {
    Packing packing(capacity);
    std::vector<std::size_t> moving;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        Job &job = jobs[i];
        const bool shrinks = out[i].gpus < job.gpus_now && stay_close;
        for (int over = shrinks ? job.gpus_now - out[i].gpus : 0; over > 0;) {
            const int part = std::min(over, job.held.back().second);
            over -= part;
            if ((job.held.back().second -= part) == 0) job.held.pop_back();
        }
        if (shrinks) job.gpus_now = out[i].gpus;
        if (stay_close || out[i].gpus == job.gpus_now) packing.take(job.held);
        if (out[i].gpus != job.gpus_now) moving.push_back(i);
    }
    std::stable_sort(moving.begin(), moving.end(),
                     [&](std::size_t a, std::size_t b) { return out[a].gpus > out[b].gpus; });
    bool all = true;
    for (const std::size_t i : moving) {
        std::vector<NodeShare> place;
        if (stay_close) packing.give(jobs[i].held);
        if (packing.place(out[i].gpus, &place)) {
            jobs[i].held = std::move(place);
            jobs[i].gpus_now = out[i].gpus;
        } else {
            all = false;
            if (stay_close) packing.take(jobs[i].held);
        }
    }
    return all;
}

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

// Small jobs come for ever; one that needs the whole cluster comes between them. Nobody behind it
// is served before it, so it starts when the jobs that ran at its arrival have ended, and no later.
TEST(nobody_starves) {
    constexpr int kLasts = 20, kComes = 7;  // rounds
    for (const GainRule rule : kRules) {
        std::map<uint32_t, int> ends;  // of running jobs
        std::vector<Job> jobs;
        int waited = -1;
        uint32_t next = 1;
        const uint32_t large = 1000;
        for (int round = 0; round < 200 && waited < 0; ++round) {
            std::erase_if(jobs, [&](const Job &job) {
                return ends.contains(job.id) && ends.at(job.id) <= round;
            });
            jobs.push_back({.id = next++, .gpus_max = 4, .submit_s = double(round)});
            if (round == kComes)
                jobs.push_back(
                    {.id = large, .gpus_min = 16, .gpus_max = 16, .submit_s = double(round)});
            for (Job &job : jobs) job.steps_left = 1000;
            const auto out = decide_doubling(jobs, nodes(1, 16), {.gain = rule});
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                if (jobs[i].gpus_now == 0 && out[i].gpus > 0) ends[jobs[i].id] = round + kLasts;
                jobs[i].gpus_now = out[i].gpus;
                if (jobs[i].id == large && out[i].gpus > 0) waited = round - kComes;
            }
        }
        ck_assert_msg(waited >= 0 && waited <= kLasts, "rule %d: waited %d rounds", int(rule),
                      waited);
    }
}

// The same on nodes that are never empty by themselves: on each run jobs of one GPU that nobody
// resizes, and more come for ever. A job that needs whole nodes comes between them.
TEST(nobody_starves_on_broken_nodes) {
    constexpr int kLasts = 20, kNodes = 4;  // rounds
    std::mt19937_64 random(12);
    for (int life = 0; life < 40; ++life) {
        const GainRule rule = kRules[life % 4];
        const uint32_t large = 10000;
        const int needs = life % 2 ? 4 : 8, comes = 5 + static_cast<int>(random() % 10);
        const Capacity capacity = nodes(kNodes, 4);
        std::map<uint32_t, int> ends;  // of running jobs
        std::vector<Job> jobs;
        uint32_t next = 1;
        int waited = -1;
        for (int round = 0; round < 400 && waited < 0; ++round) {
            std::erase_if(jobs, [&](const Job &job) {
                return ends.contains(job.id) && ends.at(job.id) <= round;
            });
            if (round == comes)
                jobs.push_back({.id = large, .gpus_min = needs, .gpus_max = needs,
                                .submit_s = double(round)});
            for (uint64_t i = random() % 3; i > 0; --i)
                jobs.push_back({.id = next++, .gpus_max = random() % 4 ? 1 : 4,
                                .submit_s = double(round)});
            for (Job &job : jobs) job.steps_left = 1000;
            const auto out = decide_doubling(jobs, capacity, {.gain = rule});
            const auto waits = [&](std::size_t i) { return out[i].gpus == 0; };
            const auto is_large = [&](const Job &job) { return job.id == large; };
            const auto first = std::find_if(jobs.begin(), jobs.end(), is_large) - jobs.begin();
            if (std::size_t(first) < jobs.size() && waits(std::size_t(first)))
                for (std::size_t i = 0; i < jobs.size(); ++i)
                    ck_assert_msg(waits(i) || jobs[i].gpus_now > 0 || jobs[i].submit_s <= comes,
                                  "life %d, round %d: job %u passes the large one", life, round,
                                  jobs[i].id);
            const std::vector<Job> before = jobs;
            if (!seat(jobs, out, capacity, false)) seat(jobs = before, out, capacity, true);
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                if (before[i].gpus_now > 0 || jobs[i].gpus_now == 0) continue;
                ends[jobs[i].id] = round + 1 + static_cast<int>(random() % kLasts);
                if (jobs[i].id == large) waited = round - comes;
            }
        }
        // Those before it in the queue may start after it came.
        ck_assert_msg(waited >= 0 && waited <= 2 * kLasts, "life %d, rule %d: waited %d rounds", life,
                      int(rule), waited);
    }
}

// All GPUs are held, one here and one there, by jobs that could give enough back for those who wait
// and need one each: nobody waits. (Once, where four rounds of fitting sizes to nodes failed, nobody
// changed at all, and those who had found no place in the first round were forgotten.)
TEST(nobody_waits_while_others_can_give) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
        const int count = 4 + static_cast<int>(random() % 12), per_node = random() % 2 ? 8 : 4;
        const Capacity capacity = nodes(count, per_node);
        std::vector<Job> jobs = random_jobs(random, 200, 64);
        int free = count * per_node, next_node = 0, can_give = 0;
        std::vector<int> used(std::size_t(count), 0);
        std::size_t running = 0;
        for (; free > 0; ++running) {
            Job &job = jobs[running];
            job.gpus_max = 64;
            job.gpus_now = 1 << random() % 7;
            while (job.gpus_now > free) job.gpus_now /= 2;
            job.gpus_min = std::min(1 << random() % 3, job.gpus_now);
            for (int gpus = job.gpus_now; gpus > 0; next_node = (next_node + 1) % count) {
                if (used[std::size_t(next_node)] == per_node) continue;
                ++used[std::size_t(next_node)];
                --gpus;
                const auto share = std::find_if(job.held.begin(), job.held.end(),
                                                [&](auto &h) { return h.first == next_node; });
                if (share == job.held.end())
                    job.held.push_back({next_node, 1});
                else
                    ++share->second;
            }
            next_node = static_cast<int>(random()) & 3;
            free -= job.gpus_now;
            can_give += job.gpus_now - job.gpus_min;
        }
        const std::size_t most = running + std::size_t(can_give);
        jobs.resize(std::min({jobs.size(), most, running + 1 + random() % 40}));
        for (const GainRule rule : kRules)
            for (const Allotment &a : decide_doubling(jobs, capacity, {.gain = rule}))
                ck_assert_msg(a.gpus > 0, "round %d, rule %d: job %u waits", round, int(rule),
                              a.job_id);
    }
}

// A job whose second counts more (QOS) gets no fewer GPUs for it. Greedy choices of others may
// shift by a step of its ladder, so this is asked of many and of a large difference.
TEST(weights_are_respected) {
    std::mt19937_64 random(8);
    long light = 0, heavy = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<Job> jobs = random_jobs(random, 6 + random() % 10, 16);
        const Capacity capacity = nodes(4, 4);
        const std::size_t i = random() % jobs.size();
        const Options options{.gain = GainRule::short_first};
        const int before = decide_doubling(jobs, capacity, options)[i].gpus;
        jobs[i].weight = 16;
        const int after = decide_doubling(jobs, capacity, options)[i].gpus;
        ck_assert_msg(after >= before, "round %d: %d GPUs at weight 1, %d at 16", round, before,
                      after);
        light += before;
        heavy += after;
    }
    ck_assert_msg(heavy > light * 3 / 2, "%ld GPUs at weight 1, %ld at 16", light, heavy);
}

// Where GPUs do not suffice for all, those of higher priority are served, whatever they would gain.
TEST(priorities_are_respected) {
    std::mt19937_64 random(9);
    for (int round = 0; round < 300; ++round) {
        std::vector<Job> jobs = random_jobs(random, 30, 16);
        for (Job &job : jobs) job.priority = double(random() % 4);
        for (const GainRule rule : kRules) {
            const auto out = decide_doubling(jobs, nodes(4, 4), {.gain = rule});
            double least_served = 9, most_waiting = -1;
            for (std::size_t i = 0; i < jobs.size(); ++i)
                if (out[i].gpus > 0)
                    least_served = std::min(least_served, jobs[i].priority);
                else
                    most_waiting = std::max(most_waiting, jobs[i].priority);
            ck_assert_double_ge(least_served, most_waiting);
        }
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

TEST(placement_model_finds_the_curve_it_was_sampled_from) {
    PlacementModel truth;
    truth.c = {20, 0.5, 15, 2, 60, 3};
    std::vector<StepSample> samples;
    for (const int gpus : {1, 2, 4, 8, 16, 32}) {
        const int at = (gpus + 3) / 4;
        for (const double local : {512.0 / gpus, 256.0 / gpus})
            samples.push_back({gpus, at, 1, local, truth.step_ms(gpus, at, 1, local)});
    }
    const PlacementModel model = fit_placement_model(samples);
    for (const StepSample &s : samples)
        ck_assert_double_eq_tol(model.step_ms(s.gpus, s.nodes, s.passes, s.local_batch), s.step_ms,
                                0.03 * s.step_ms);
    for (const double c : model.c) ck_assert_double_ge(c, 0);
}

TEST(placement_model_survives_nonsense) {
    const std::vector<StepSample> samples{{0, 1, 1, 1, 5}, {1, 1, 1, 1, NAN},      {1, 1, 1, 1, -1},
                                          {1, 1, 0, 1, 5}, {1, 1, 1, INFINITY, 5}, {1, 1, 1, 0, 5}};
    const PlacementModel model = fit_placement_model(samples);
    ck_assert_double_eq(model.step_ms(1, 1, 1, 1), PlacementModel{}.step_ms(1, 1, 1, 1));
    const std::vector<StepSample> one{{2, 1, 1, 64, 100}};
    ck_assert_double_eq_tol(fit_placement_model(one).step_ms(2, 1, 1, 64), 100, 5);
}

// Optimus's own form, with its floor, from noisy samples: the curve and what is left of it.
TEST(loss_model_finds_the_curve_and_what_is_left) {
    std::mt19937_64 random(6);
    const LossModel truth{.b0 = 2e-3, .b1 = 0.4, .b2 = 0.3};
    std::vector<LossSample> samples;
    for (int step = 0; step <= 4000; step += 50)
        samples.push_back({double(step), truth.loss(step) * uniform(random, 0.99, 1.01)});
    const auto model = fit_loss_model(samples);
    ck_assert(model.has_value());
    for (const double step : {500., 4000., 8000.})
        ck_assert_double_eq_tol(model->loss(step), truth.loss(step), 0.05 * truth.loss(step));
    const double left = steps_to_converge(*model, 4000, 400, 0.002, 1e6);
    const double right = steps_to_converge(truth, 4000, 400, 0.002, 1e6);
    ck_assert_double_eq_tol(left, right, 0.5 * right);
    ck_assert_double_eq(steps_to_converge(truth, 1e7, 400, 0.002, 1e6), 0);
    ck_assert(!fit_loss_model(std::vector<LossSample>{{1, 2}, {2, 1}}).has_value());
    ck_assert(!fit_loss_model(std::vector<LossSample>{{1, 1}, {2, 2}, {3, 3}, {4, 4}}).has_value());
}

int main() {
    return ringrt::test::run_all(
        "policies",
        {no_gpu_is_given_twice_and_sizes_keep_their_bounds, the_same_question_has_the_same_answer,
         nobody_waits_for_nothing, nobody_waits_while_others_can_give, doubling_does_not_flap,
         nobody_starves, nobody_starves_on_broken_nodes, weights_are_respected,
         priorities_are_respected, the_optimum_is_never_worse_and_doubling_is_near,
         moving_nobody_has_a_price, hull_escapes_a_first_doubling_that_loses,
         many_jobs_are_decided_as_few, backfill_does_not_delay_the_first_in_the_queue,
         tiresias_puts_small_service_first, loss_model_finds_the_curve_and_what_is_left,
         placement_model_finds_the_curve_it_was_sampled_from, placement_model_survives_nonsense});
}
