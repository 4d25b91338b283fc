// SPDX-License-Identifier: BSD-3-Clause
// Shortest remaining time first.
//
// Schrage, A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, 1968:
// optimal for the mean completion time on one machine, without restart costs. Here each job keeps
// the size that its user requested. Jobs are ranked by the time left at that size, and every job
// that still fits runs, in that order. A running job is ranked with its restart cost subtracted: a
// new job must be shorter by more than the cost of stopping the other.
//
// Needs the remaining time. If it is unknown, the attained service is used instead. Large and long
// jobs can starve.
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
