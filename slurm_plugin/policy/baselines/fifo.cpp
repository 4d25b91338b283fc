// SPDX-License-Identifier: BSD-3-Clause
// Stock Slurm: first come, first served, with EASY backfill. No job is stopped.
//
// Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995. Jobs start in order of priority and arrival
// while they fit. The first job that does not fit gets a reservation: the earliest time at which
// the time limits of the running jobs guarantee enough free GPUs. A later job may start at once
// only if it ends before that time or needs none of the GPUs in the reservation.
//
// Guarantee: no job delays the first job in the queue. A job without a time limit is assumed to run
// forever, as Slurm assumes for UNLIMITED: it is backfilled only on GPUs outside the reservation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "slurm_plugin/policy/baselines/baselines.h"

namespace ringrt::policy {
namespace {

constexpr double kForEver = std::numeric_limits<double>::infinity();

double limit_left(const SimFacts &job) {
    return std::isfinite(job.time_left_s) ? job.time_left_s : kForEver;
}

Reservation reserve_among(std::span<const SimFacts> jobs, std::span<const Allotment> out, int free,
                          int gpus) {
    std::vector<std::pair<double, int>> ends;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (out[i].gpus > 0) ends.emplace_back(limit_left(jobs[i]), out[i].gpus);
    return reserve(std::move(ends), free, gpus);
}

}  // namespace

Reservation reserve(std::vector<std::pair<double, int>> ends, int free, int gpus) {
    std::sort(ends.begin(), ends.end());
    for (const auto &[in_s, released] : ends) {
        free += released;
        if (free >= gpus) return {.in_s = in_s, .spare = free - gpus};
    }
    return {};
}

std::vector<Allotment> decide_fifo(const SimJobs &sim, const Capacity &capacity, const Options &) {
    const std::span<const Job> jobs = sim.jobs;
    std::vector<Allotment> out(jobs.size());
    std::vector<std::size_t> queue;
    int free = total_gpus(capacity);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        out[i] = {.job_id = jobs[i].id, .gpus = jobs[i].gpus_now};
        free -= jobs[i].gpus_now;
        if (jobs[i].gpus_now == 0) queue.push_back(i);
    }
    std::sort(queue.begin(), queue.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(-jobs[a].priority, jobs[a].submit_s, jobs[a].id) <
               std::tuple(-jobs[b].priority, jobs[b].submit_s, jobs[b].id);
    });
    bool blocked = false;
    Reservation first;
    for (const std::size_t i : queue) {
        if (free == 0) break;
        const int gpus = sim.rigid_size(i);
        bool starts = gpus <= free;
        if (blocked && starts) {
            const double limit_s = limit_left(sim.facts[i]);
            const bool ends_before = limit_s <= first.in_s && first.in_s < kForEver;
            starts = ends_before || gpus <= first.spare;
            if (starts && !ends_before) first.spare -= gpus;
        }
        if (starts) {
            out[i].gpus = gpus;
            free -= gpus;
        } else if (!blocked) {
            blocked = true;
            first = reserve_among(sim.facts, out, free, gpus);
        }
    }
    for (Allotment &allotment : out)
        if (allotment.gpus == 0) allotment.reason = Reason::waits;
    return out;
}

}  // namespace ringrt::policy
