// SPDX-License-Identifier: BSD-3-Clause
// Which jobs are paused, and what pausing promises to the others.
#include <algorithm>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/doubling.h"
#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/pausing.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::policy;
using namespace ringrt::test;

namespace {

constexpr Options kShortFirst{.gain = GainRule::short_first};

// A job of `seconds` on one GPU, on which it runs if `runs`. More GPUs do not make it faster.
Job one_gpu_job(uint32_t id, double seconds, bool runs) {
    Job job{.id = id, .may_pause = true, .submit_s = double(id)};
    job.steps_left = seconds;
    job.speed.t = {1000, 0, 0, 0};
    job.gpus_now = runs ? 1 : 0;
    if (runs) job.held = {{0, 1}};
    return job;
}

std::vector<Allotment> decide(const std::vector<Job> &jobs, const Capacity &capacity) {
    return decide_doubling_and_pause(jobs, capacity, kShortFirst);
}

std::vector<int> sizes(const std::vector<Allotment> &allotments) {
    std::vector<int> out;
    for (const Allotment &allotment : allotments) out.push_back(allotment.gpus);
    return out;
}

std::vector<Job> random_jobs_to_pause(std::mt19937_64 &random, const Capacity &capacity) {
    std::vector<Job> jobs = running_jobs(random, capacity, 1 + random() % 40);
    for (Job &job : jobs) {
        job.may_pause = random() % 3 != 0;
        job.paused = job.gpus_now == 0 && random() % 2 == 0;
        job.pinned = random() % 10 == 0;
        if (random() % 5 == 0) job.gpus_cap = 1 << (random() % 4);
        job.steps_left *= random() % 4 == 0 ? 100 : 1;
    }
    return jobs;
}

bool may_get_none(const Job &job) {
    return job.gpus_now == 0 || (job.may_pause && !job.keeps_its_size());
}

void carry_out(const std::vector<Allotment> &decision, std::vector<Job> &jobs) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i].paused |= jobs[i].gpus_now > 0 && decision[i].gpus == 0;
        if (decision[i].gpus > 0) jobs[i].paused = false;
        jobs[i].gpus_now = decision[i].gpus;
        jobs[i].held.clear();
    }
}

void expect_sizes(const std::vector<Job> &jobs, const Capacity &capacity,
                  const std::vector<int> &expected) {
    const std::vector<int> got = sizes(decide(jobs, capacity));
    for (std::size_t i = 0; i < expected.size(); ++i)
        ck_assert_msg(got[i] == expected[i], "job %u has %d GPUs instead of %d", jobs[i].id, got[i],
                      expected[i]);
}

}  // namespace

TEST(without_jobs_that_may_be_paused_nothing_changes) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const Capacity capacity = nodes(1 + random() % 8, 4);
        const std::vector<Job> jobs = running_jobs(random, capacity, 1 + random() % 40);
        for (const GainRule rule : kRules) {
            const Options options{.gain = rule};
            ck_assert(sizes(decide_doubling_and_pause(jobs, capacity, options)) ==
                      sizes(decide_doubling_fast(jobs, capacity, options)));
        }
    }
}

TEST(no_other_job_is_stopped_and_no_gpu_is_given_twice) {
    std::mt19937_64 random(2);
    int paused = 0, resumed = 0;
    for (int round = 0; round < 1000; ++round) {
        Capacity capacity = nodes(1 + random() % 8, 1 + random() % 6);
        const std::vector<Job> jobs = random_jobs_to_pause(random, capacity);
        for (const GainRule rule : kRules) {
            const auto out = decide_doubling_and_pause(jobs, capacity, {.gain = rule});
            ck_assert_int_le(sum(out), total_gpus(capacity));
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                ck_assert_uint_eq(out[i].job_id, jobs[i].id);
                ck_assert(out[i].gpus > 0 || may_get_none(jobs[i]));
                ck_assert(!jobs[i].keeps_its_size() || out[i].gpus == jobs[i].gpus_now);
                ck_assert(out[i].gpus == 0 || jobs[i].keeps_its_size() ||
                          jobs[i].ladder().contains(out[i].gpus));
                const bool is_paused = jobs[i].gpus_now > 0 && out[i].gpus == 0;
                ck_assert(!is_paused || out[i].reason == Reason::paused);
                ck_assert(!is_paused || rule == GainRule::relative ||
                          rule == GainRule::short_first);
                paused += is_paused;
                resumed += jobs[i].paused && out[i].gpus > 0;
            }
        }
    }
    ck_assert_int_gt(paused, 100);
    ck_assert_int_gt(resumed, 100);
}

// Job 1 would gain a little on 8 GPUs, which is more than job 2 is worth. But it gains too little
// for a restart, so it stays at 4. Job 2 then resumes beside it.
TEST(no_job_stays_paused_beside_idle_gpus) {
    std::vector<Job> jobs{one_gpu_job(1, 4000, true), one_gpu_job(2, 4000, false)};
    jobs[0].gpus_max = 8;
    jobs[0].gpus_now = 4;
    jobs[0].held = {{0, 4}};
    jobs[0].restart_s = 60;
    jobs[0].speed.t = {0, 0, 0, 0};
    jobs[0].measured = {{1, 1000}, {2, 510}, {4, 260}, {8, 235}};
    jobs[1].paused = true;
    jobs[1].weight = 0.01;
    expect_sizes(jobs, nodes(1, 8), {4, 1});
    jobs[1].weight = 1;
    expect_sizes(jobs, nodes(1, 8), {4, 1});
}

TEST(the_order_of_the_input_does_not_matter) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round) {
        const Capacity capacity = nodes(4, 4);
        std::vector<Job> jobs = random_jobs_to_pause(random, capacity);
        for (Job &job : jobs)
            if (round % 2) job.steps_left = 1000, job.restart_s = 0, job.speed = jobs[0].speed;
        std::vector<Allotment> first = decide(jobs, capacity);
        std::ranges::shuffle(jobs, random);
        std::vector<Allotment> second = decide(jobs, capacity);
        std::ranges::sort(first, {}, &Allotment::job_id);
        std::ranges::sort(second, {}, &Allotment::job_id);
        ck_assert(sizes(first) == sizes(second));
    }
}

// New jobs start first and are measured, whatever they pause. Then the most valuable ones run, and
// no job is paused and resumed in turns.
TEST(decisions_that_are_carried_out_come_to_rest) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 300; ++round) {
        const Capacity capacity = nodes(1, 32);
        std::vector<Job> jobs = random_jobs_to_pause(random, capacity);
        std::vector<int> before;
        int rounds = 0;
        for (; rounds < 10; ++rounds) {
            const std::vector<Allotment> decision = decide(jobs, capacity);
            if (sizes(decision) == before) break;
            before = sizes(decision);
            carry_out(decision, jobs);
        }
        ck_assert_int_lt(rounds, 10);
    }
}

TEST(a_short_job_pauses_a_long_one_and_later_it_resumes) {
    std::vector<Job> jobs{one_gpu_job(1, 100000, true), one_gpu_job(2, 100, false)};
    expect_sizes(jobs, nodes(1, 1), {0, 1});
    carry_out(decide(jobs, nodes(1, 1)), jobs);
    ck_assert(jobs[0].paused);
    expect_sizes(jobs, nodes(1, 1), {0, 1});
    expect_sizes({jobs[0]}, nodes(1, 1), {1});  // the short one has ended
}

// A pending job's own value is not asked: it starts in Slurm's order, as without pauses.
TEST(a_new_job_starts_before_jobs_that_may_be_paused) {
    expect_sizes({one_gpu_job(1, 100, true), one_gpu_job(2, 100000, false)}, nodes(1, 1), {0, 1});
    std::vector<Job> rigid_rule{one_gpu_job(1, 100, true), one_gpu_job(2, 100000, false)};
    rigid_rule[0].may_pause = false;
    expect_sizes(rigid_rule, nodes(1, 1), {1, 0});
}

TEST(a_job_that_waited_too_long_is_a_new_job) {
    std::vector<Job> jobs{one_gpu_job(1, 100000, false), one_gpu_job(2, 100, true)};
    jobs[0].paused = true;
    expect_sizes(jobs, nodes(1, 1), {0, 1});
    jobs[0].paused = false;
    expect_sizes(jobs, nodes(1, 1), {1, 0});
}

TEST(idle_gpus_resume_a_job) {
    std::vector<Job> jobs{one_gpu_job(1, 100000, false), one_gpu_job(2, 100, true)};
    jobs[0].paused = true;
    expect_sizes(jobs, nodes(1, 2), {1, 1});
}

// A long job on one GPU, and a short one that would be almost twice as fast on two.
TEST(a_job_grows_onto_the_gpus_of_one_that_is_paused) {
    std::vector<Job> jobs{one_gpu_job(1, 1e7, true), one_gpu_job(2, 2000, true)};
    jobs[1].gpus_max = 2;
    jobs[1].held = {{0, 1}};
    jobs[1].restart_s = 1;
    static constexpr float kCurve[] = {1000, 510};
    jobs[1].curve_ms = kCurve;
    expect_sizes(jobs, nodes(1, 2), {0, 2});
    jobs[1].restart_s = 900;  // as long as it would save
    expect_sizes(jobs, nodes(1, 2), {1, 1});
}

// Rigid jobs get the GPUs of node 0. Its job is paused, although that of node 1 is worth less.
TEST(the_job_on_the_node_that_a_rigid_job_needs_is_paused) {
    std::vector<Job> jobs{one_gpu_job(1, 1000, true), one_gpu_job(2, 1e6, true)};
    jobs[1].held = {{1, 1}};
    expect_sizes(jobs, {.node_gpus = {0, 1}, .gpus_per_node = 1, .kept_for_rigid = 1}, {0, 1});
    jobs[0].may_pause = false;
    expect_sizes(jobs, {.node_gpus = {0, 1}, .gpus_per_node = 1, .kept_for_rigid = 1}, {1, 1});
}

// It needs a whole node of four, and only parts of two nodes are free.
TEST(a_paused_job_that_fits_no_node_delays_no_new_job) {
    std::vector<Job> jobs{one_gpu_job(1, 10, false), one_gpu_job(2, 1000, true),
                          one_gpu_job(3, 1000, true), one_gpu_job(4, 1e6, false)};
    jobs[0].paused = true;
    jobs[0].gpus_min = jobs[0].gpus_max = 4;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        jobs[i].may_pause = false;
        jobs[i].held = {{static_cast<int>(i) - 1, 1}};
    }
    expect_sizes(jobs, nodes(2, 4), {0, 1, 1, 1});
}

int main() { return ringrt::test::run_all("pausing"); }
