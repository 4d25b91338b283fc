// SPDX-License-Identifier: BSD-3-Clause
// What every policy promises, on random jobs: no GPU is given twice, sizes stay within their
// bounds, the same question gets the same answer, and no job waits needlessly. Also what the
// baselines promise.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "slurm_plugin/policy/baselines/baselines.h"
#include "slurm_plugin/policy/engine/fast_doubling.h"
#include "slurm_plugin/policy/engine/knapsack.h"
#include "slurm_plugin/policy/engine/packing.h"
#include "tests/support/check.h"
#include "tests/support/jobs.h"

using namespace ringrt::policy;
using namespace ringrt::test;

namespace {

struct Named {
    const char *name;
    SimDecide decide;
    bool malleable;  // sizes on the ladder, none stopped
};

template <Decide decide>
std::vector<Allotment> plain(const SimJobs &jobs, const Capacity &capacity,
                             const Options &options) {
    return decide(jobs.jobs, capacity, options);
}

constexpr Named kAll[] = {
    {"fifo", decide_fifo, false},
    {"srtf", decide_srtf, false},
    {"tiresias", decide_tiresias, false},
    {"optimus", decide_optimus, false},
    {"afs", decide_afs, false},
    {"doubling", plain<decide_doubling_fast>, true},
    {"optimum", plain<decide_optimum>, true},
};

}  // namespace

TEST(policies_are_found_by_name) {
    ck_assert(find_policy("doubling") != nullptr);
    ck_assert(find_policy("no such") == nullptr);
    for (const Policy &policy : policies()) {
        ck_assert(policy.decide != nullptr && !policy.help.empty());
        ck_assert(find_policy(policy.name) == &policy);
    }
}

TEST(no_gpu_is_given_twice_and_sizes_keep_their_bounds) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; ++round) {
        const Capacity capacity = nodes(1 + random() % 8, 4);
        const std::vector<Job> jobs = random_jobs(random, 1 + random() % 30, total_gpus(capacity));
        const std::vector<SimFacts> facts = random_facts(random, jobs);
        for (const Named &policy : kAll)
            for (const GainRule rule : kRules) {
                const auto out = policy.decide({jobs, facts}, capacity, {.gain = rule});
                ck_assert_uint_eq(out.size(), jobs.size());
                ck_assert_msg(sum(out) <= total_gpus(capacity), "%s gave %d of %d GPUs",
                              policy.name, sum(out), total_gpus(capacity));
                for (std::size_t i = 0; i < out.size(); ++i) {
                    ck_assert_msg(out[i].job_id == jobs[i].id, "%s: order", policy.name);
                    ck_assert_msg(out[i].gpus >= 0 && out[i].gpus <= jobs[i].gpus_max,
                                  "%s: %d GPUs of %d", policy.name, out[i].gpus, jobs[i].gpus_max);
                    if (policy.malleable && out[i].gpus > 0)
                        ck_assert_msg(jobs[i].ladder().contains(out[i].gpus),
                                      "%s: %d is off the ladder", policy.name, out[i].gpus);
                }
            }
    }
}

TEST(the_same_question_has_the_same_answer) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 50; ++round) {
        const Capacity capacity = nodes(4, 4);
        const std::vector<Job> jobs = random_jobs(random, 20, 16);
        const std::vector<SimFacts> facts = random_facts(random, jobs);
        for (const Named &policy : kAll) {
            const auto first = policy.decide({jobs, facts}, capacity, {});
            const auto second = policy.decide({jobs, facts}, capacity, {});
            for (std::size_t i = 0; i < jobs.size(); ++i)
                ck_assert_int_eq(first[i].gpus, second[i].gpus);
        }
    }
}

// If a job waits, no policy leaves enough GPUs free for it (FIFO may, for its reservation).
TEST(no_job_waits_needlessly) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round) {
        const Capacity capacity = nodes(4, 4);
        const std::vector<Job> jobs = random_jobs(random, 1 + random() % 40, 16);
        const std::vector<SimFacts> facts = random_facts(random, jobs);
        for (const Named &policy : kAll) {
            if (policy.decide == decide_fifo) continue;
            const auto out =
                policy.decide({jobs, facts}, capacity, {.gain = GainRule::short_first});
            const int left = total_gpus(capacity) - sum(out);
            const bool one_gpu_starts =
                policy.malleable || policy.decide == decide_optimus || policy.decide == decide_afs;
            for (std::size_t i = 0; i < out.size(); ++i)
                if (out[i].gpus == 0)
                    ck_assert_msg(left < (one_gpu_starts ? 1 : SimJobs{jobs, facts}.rigid_size(i)),
                                  "%s: job %u waits although %d GPUs are free", policy.name,
                                  jobs[i].id, left);
        }
    }
}

TEST(closed_nodes_do_not_count) {
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
        ck_assert_int_eq(sum(decide_doubling_fast(jobs, closed, {.gain = rule})), 2);
        ck_assert_int_le(sum(decide_optimum(jobs, closed, {.gain = rule})), 2);
        ck_assert_int_eq(sum(decide_optimum(jobs, open, {.gain = rule})), 4);
    }
}

// The first in the queue waits for 8. A later job of 4 may run only if it ends first.
TEST(backfill_does_not_delay_the_first_in_the_queue) {
    std::vector<Job> jobs(3);
    for (std::size_t i = 0; i < 3; ++i)
        jobs[i] = {.id = uint32_t(i + 1), .gpus_max = 8, .submit_s = double(i)};
    jobs[0].gpus_now = 4;
    std::vector<SimFacts> facts{{.gpus_asked = 4, .time_left_s = 100},
                                {.gpus_asked = 8},
                                {.gpus_asked = 4, .time_left_s = 101}};
    ck_assert_int_eq(decide_fifo({jobs, facts}, nodes(2, 4), {})[2].gpus, 0);
    facts[2].time_left_s = 100;
    ck_assert_int_eq(decide_fifo({jobs, facts}, nodes(2, 4), {})[2].gpus, 4);
}

TEST(tiresias_puts_small_service_first) {
    std::vector<Job> jobs(2);
    for (std::size_t i = 0; i < 2; ++i) jobs[i] = {.id = uint32_t(i + 1), .gpus_max = 4};
    jobs[0].gpus_now = 4;
    const std::vector<SimFacts> facts{{.attained_gpu_s = 16 * 3600}, {}};
    const auto out = decide_tiresias({jobs, facts}, nodes(1, 4), {});
    ck_assert_int_eq(out[0].gpus, 0);
    ck_assert_int_eq(out[1].gpus, 4);
}

int main() { return ringrt::test::run_all("policy_contract"); }
