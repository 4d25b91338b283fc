// SPDX-License-Identifier: BSD-3-Clause
// Tiresias: two-dimensional least attained service, discretised.
//
// Gu et al., Tiresias, NSDI 2019. A job keeps the size that its user requested. Jobs are ranked by
// the GPU-seconds they have received, in two queues: below the threshold first, above it second,
// each in order of arrival. Every job that still fits runs, in that order. The others are stopped.
//
// Needs neither a model nor the remaining time. Guarantees: a job's rank falls only once, so it is
// stopped only for jobs that arrived earlier or have received less; a small job never waits for a
// large one that does not fit. A job above the threshold can starve under steady load (the paper's
// PromoteKnob is off and the threshold is 16 GPU-hours, both as in the reference simulator of
// Pollux).
#include <algorithm>
#include <numeric>
#include <tuple>

#include "slurm_plugin/policy/baselines/baselines.h"

namespace ringrt::policy {
namespace {

constexpr double kDemotedAfter_gpu_s = 16 * 3600;

}  // namespace

std::vector<Allotment> decide_tiresias(const SimJobs &jobs, const Capacity &capacity,
                                       const Options &) {
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto rank = [&](std::size_t i) {
            const Job &job = jobs.jobs[i];
            return std::tuple(jobs.facts[i].attained_gpu_s >= kDemotedAfter_gpu_s, -job.priority,
                              job.submit_s, job.id);
        };
        return rank(a) < rank(b);
    });
    return give_in_order(jobs, order, capacity);
}

}  // namespace ringrt::policy
