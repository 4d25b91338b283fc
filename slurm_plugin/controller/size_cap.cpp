// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/size_cap.h"

#include <algorithm>

#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/shared_limit.h"

namespace ringrt::controller {

void cap_by_reach(const Observation &observation, const Pool &pool, const MalleableJob &of,
                  policy::Job &job) {
    const JobRecord &record = *of.record;
    const records::Layout &layout = of.intent.layout;
    if (!is_choosy(record, pool) && layout.gpus_per_node == 0) return;
    const Reach reach = reach_of(observation, pool, record, layout);
    const int now = record.phase != JobPhase::pending ? record.gpus_requested : 0;
    const int most = now > 0 ? std::max(reach.gpus_lent, now) : reach.gpus_in_all;
    job.gpus_cap = std::min(job.gpus_cap, most_evenly(reach, layout, job.gpus_min, now, most));
}

void cap_by_limits(const MalleableJob &of, const Options &options, policy::Job &job) {
    if (const auto most = size_below_limits(of, options))
        job.gpus_cap = std::min(job.gpus_cap, std::max(*most, job.gpus_min));
}

std::optional<int> unmeasured_size(const MalleableJob &job, const Application &application,
                                   const Pool &pool) {
    if (!is_waiting(job.stage) || has_run(job) || !application.speeds.empty()) return std::nullopt;
    const int requested = job.intent.first_gpus;
    return std::max(requested > 0 ? requested : pool.capacity.gpus_per_node, job.intent.gpus_min);
}

}  // namespace ringrt::controller
