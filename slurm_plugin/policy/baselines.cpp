// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/baselines.h"

#include <algorithm>
#include <numeric>

namespace ringrt::policy {

int rigid_size(const Job &job) { return job.gpus_asked > 0 ? job.gpus_asked : job.gpus_max; }

int total_gpus(const Capacity &capacity) {
    return std::accumulate(capacity.node_gpus.begin(), capacity.node_gpus.end(), 0,
                           [](int sum, int gpus) { return sum + std::max(0, gpus); });
}

std::vector<Allotment> give_in_order(std::span<const Job> jobs, std::span<const std::size_t> order,
                                     const Capacity &capacity) {
    std::vector<Allotment> out(jobs.size());
    int left = total_gpus(capacity);
    for (const std::size_t i : order) {
        const int gpus = rigid_size(jobs[i]);
        const bool fits = gpus <= left;
        out[i] = {.job_id = jobs[i].id,
                  .gpus = fits ? gpus : 0,
                  .reason = fits ? Reason::none : Reason::waits};
        left -= out[i].gpus;
    }
    return out;
}

}  // namespace ringrt::policy
