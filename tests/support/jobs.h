// SPDX-License-Identifier: BSD-3-Clause
// Random jobs and clusters for policy tests.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "slurm_plugin/policy/baselines/baselines.h"
#include "slurm_plugin/policy/engine/packing.h"
#include "slurm_plugin/policy/policy.h"

namespace ringrt::test {

inline constexpr policy::GainRule kRules[] = {
    policy::GainRule::absolute, policy::GainRule::relative, policy::GainRule::short_first,
    policy::GainRule::hull};

inline double uniform(std::mt19937_64 &random, double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
}

inline std::vector<policy::Job> random_jobs(std::mt19937_64 &random, std::size_t count,
                                            int gpus_max) {
    std::vector<policy::Job> jobs;
    for (std::size_t i = 0; i < count; ++i) {
        policy::Job job{.id = static_cast<uint32_t>(i + 1)};
        job.gpus_max = 1 << (random() % 5);
        job.gpus_max = std::min(job.gpus_max, gpus_max);
        job.submit_s = double(i);
        job.steps_left = uniform(random, 1, 50000);
        job.restart_s = uniform(random, 0, 60);
        job.speed.t = {uniform(random, 100, 2000), uniform(random, 0, 20), uniform(random, 0, 300),
                       uniform(random, 0, 200)};
        jobs.push_back(job);
    }
    return jobs;
}

// Facts that only a simulator has.
inline std::vector<policy::SimFacts> random_facts(std::mt19937_64 &random,
                                                  const std::vector<policy::Job> &jobs) {
    std::vector<policy::SimFacts> facts;
    for (const policy::Job &job : jobs)
        facts.push_back({.gpus_asked = job.gpus_max, .attained_gpu_s = uniform(random, 0, 100000)});
    return facts;
}

// Jobs of which most run, packed on the nodes.
inline std::vector<policy::Job> running_jobs(std::mt19937_64 &random,
                                             const policy::Capacity &capacity, std::size_t count) {
    std::vector<policy::Job> jobs = random_jobs(random, count, 16);
    policy::Packing packing(capacity);
    for (policy::Job &job : jobs) {
        const int gpus = std::min(job.gpus_max, 1 << (random() % 4));
        if (random() % 8 != 0 && packing.place(gpus, &job.held)) job.gpus_now = gpus;
    }
    return jobs;
}

inline policy::Capacity nodes(int count, int gpus) {
    return {.node_gpus = std::vector<int>(count, gpus)};
}

inline int sum(const std::vector<policy::Allotment> &out) {
    return std::accumulate(out.begin(), out.end(), 0,
                           [](int total, const policy::Allotment &a) { return total + a.gpus; });
}

}  // namespace ringrt::test
