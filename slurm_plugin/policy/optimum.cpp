// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/optimum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurm_plugin/policy/baselines.h"
#include "slurm_plugin/policy/gain.h"
#include "slurm_plugin/policy/placement.h"

namespace ringrt::policy {
namespace {

constexpr uint8_t kNone =
    255;  // the choice "no GPUs"; k: gpus_min·2^k, or gpus_now of a job that stays

bool stays(const Job &job) {
    return job.pinned || (job.gpus_now > 0 && !on_ladder(job, job.gpus_now));
}

// The sizes a job may have, ascending.
std::vector<int> sizes_of(const Job &job) {
    if (stays(job)) return {job.gpus_now};
    std::vector<int> sizes;
    for (int gpus = job.gpus_min;
         gpus <= std::min(job.gpus_max, std::max(job.gpus_believed, job.gpus_min)); gpus *= 2) {
        sizes.push_back(gpus);
        if (gpus > job.gpus_max / 2) break;
    }
    return sizes;
}

bool may_wait(const Job &job) { return job.gpus_now == 0; }

struct Cell {
    int served = -1;  // -1: impossible
    double sum = 0;
};

bool better(const Cell &a, const Cell &b) {
    return a.served != b.served ? a.served > b.served : a.sum > b.sum;
}

}  // namespace

std::vector<Allotment> decide_optimum(std::span<const Job> jobs, const Capacity &capacity,
                                      const Options &options) {
    const int total = total_gpus(capacity);
    const auto width = static_cast<std::size_t>(total) + 1;
    std::vector<Cell> best(width, Cell{.served = 0}), next(width);
    std::vector<uint8_t> choice(jobs.size() * width, kNone);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const std::vector<int> sizes = sizes_of(jobs[j]);
        const Valuation value(jobs[j], options);
        std::fill(next.begin(), next.end(), Cell{});
        if (may_wait(jobs[j])) next = best;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const double worth = sizes[k] > 0 ? value.at(sizes[k]) : 0;
            for (int gpus = sizes[k]; gpus <= total; ++gpus) {
                const Cell &from = best[static_cast<std::size_t>(gpus - sizes[k])];
                if (from.served < 0) continue;
                const Cell with{.served = from.served + (sizes[k] > 0), .sum = from.sum + worth};
                if (!better(with, next[static_cast<std::size_t>(gpus)])) continue;
                next[static_cast<std::size_t>(gpus)] = with;
                choice[j * width + static_cast<std::size_t>(gpus)] = static_cast<uint8_t>(k);
            }
        }
        std::swap(best, next);
    }
    std::vector<Allotment> out(jobs.size());
    int left = total;
    for (std::size_t j = jobs.size(); j-- > 0;) {
        const uint8_t k = choice[j * width + static_cast<std::size_t>(left)];
        out[j] = {.job_id = jobs[j].id, .gpus = k == kNone ? 0 : sizes_of(jobs[j])[k]};
        if (out[j].gpus == 0) out[j].reason = Reason::waits;
        left -= out[j].gpus;
    }
    return out;
}

Worth worth_of(std::span<const Job> jobs, std::span<const Allotment> decision,
               const Options &options) {
    Worth worth;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (decision[i].gpus == 0) continue;
        ++worth.served;
        worth.sum += value(jobs[i], decision[i].gpus, options);
    }
    return worth;
}

double gap_to_optimum(std::span<const Job> jobs, std::span<const Allotment> decision,
                      const Capacity &capacity, const Options &options) {
    const Worth got = worth_of(jobs, decision, options);
    const Worth best = worth_of(jobs, decide_optimum(jobs, capacity, options), options);
    if (got.served < best.served) return 1;
    return best.sum == 0 ? 0 : std::max(0.0, (best.sum - got.sum) / std::abs(best.sum));
}

}  // namespace ringrt::policy
