// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/policy/baselines/baselines.h"

namespace ringrt::policy {

std::vector<Allotment> give_in_order(const SimJobs &jobs, std::span<const std::size_t> order,
                                     const Capacity &capacity) {
    std::vector<Allotment> out(jobs.size());
    int left = total_gpus(capacity);
    for (const std::size_t i : order) {
        const int gpus = jobs.rigid_size(i);
        const bool fits = gpus <= left;
        out[i] = {.job_id = jobs.jobs[i].id,
                  .gpus = fits ? gpus : 0,
                  .reason = fits ? Reason::none : Reason::waits};
        left -= out[i].gpus;
    }
    return out;
}

}  // namespace ringrt::policy
