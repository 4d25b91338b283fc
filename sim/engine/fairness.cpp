// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "sim/engine/engine.h"

namespace ringrt::sim {

double finish_time_fairness(const JobState &job, const SimOptions &options) {
    const JobSpec &spec = *job.spec;
    const double took_s = job.finished_s - spec.submit_s;
    const double share = job.share_s / std::max(1.0, took_s);
    const int gpus = std::clamp(static_cast<int>(share), 1, spec.gpus_limit);
    const BatchPlan plan = split_batch(spec.profile->batch, spec.batch, gpus);
    const double step_s = plan_step_s(*spec.profile, packed(gpus, options.gpus_per_node), plan);
    const std::vector<double> &ends = spec.profile->epoch_ends();
    double alone_s = options.start_s, progress = 0;
    for (std::size_t epoch = 0; epoch < ends.size(); progress = ends[epoch++])
        alone_s += (ends[epoch] - progress) * step_s /
                   spec.profile->step_progress(plan.total(gpus), static_cast<int>(epoch));
    return took_s / (alone_s / std::min(share, 1.0));
}

}  // namespace ringrt::sim
