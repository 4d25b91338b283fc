// SPDX-License-Identifier: BSD-3-Clause
// Shortest remaining time first.
//
// Schrage, A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, 1968:
// optimal for the mean completion time on one machine, without restart costs. Here each job keeps
// the size its user asked for; jobs are ranked by the time left at that size, and down the ranking
// every job that still fits runs. A job that runs ranks with its restart cost taken off, so that a
// newcomer must be shorter by more than stopping the other costs.
//
// Needs the remaining time; where it is unknown the time received stands in (attained service).
// Large and long jobs can starve.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "slurm_plugin/policy/baselines/baselines.h"

namespace ringrt::policy {
namespace {

double seconds_left(const SimJobs &jobs, std::size_t i) {
    const Job &job = jobs.jobs[i];
    const int gpus = jobs.rigid_size(i);
    if (!std::isfinite(job.steps_left)) return jobs.facts[i].attained_gpu_s / gpus;
    const double left = job.steps_left * step_ms(job, gpus) / 1000;
    return job.gpus_now > 0 ? left - job.restart_s : left;
}

}  // namespace

std::vector<Allotment> decide_srtf(const SimJobs &jobs, const Capacity &capacity, const Options &) {
    std::vector<std::tuple<double, double, uint32_t>> rank;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        rank.emplace_back(seconds_left(jobs, i), jobs.jobs[i].submit_s, jobs.jobs[i].id);
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return rank[a] < rank[b]; });
    return give_in_order(jobs, order, capacity);
}

}  // namespace ringrt::policy
