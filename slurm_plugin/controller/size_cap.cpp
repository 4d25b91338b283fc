// SPDX-License-Identifier: BSD-3-Clause
#include "slurm_plugin/controller/size_cap.h"

#include <algorithm>

#include "slurm_plugin/controller/reach.h"
#include "slurm_plugin/controller/shared_limit.h"
#include "slurm_plugin/controller/speed.h"

namespace ringrt::controller {
namespace {

// Each stage of a climb costs a restart, and a doubling alone may not pay for one although a larger
// size would: with twice, a job stayed on a fourth of the cluster (doc/policies.md).
constexpr int kBeyondMeasured = 4;

}  // namespace

std::optional<int> evenly_shared_size(const MalleableJob &job, const Observation &observation,
                                      const Pool &pool) {
    const JobRecord &record = *job.record;
    const records::Layout &layout = job.intent.layout;
    if (!is_choosy(record, pool) && layout.gpus_per_node == 0) return std::nullopt;
    const Reach reach = reach_of(observation, pool, record, layout);
    const int now = record.phase != JobPhase::pending ? record.gpus_requested : 0;
    const int most = now > 0 ? std::max(reach.gpus_lent, now) : reach.gpus_in_all;
    return most_evenly(reach, layout, job.intent.gpus_min, now, most);
}

std::optional<int> allowed_size(const MalleableJob &job, const Options &options) {
    const auto most = size_below_limits(job, options);
    return most ? std::optional(std::max(*most, job.intent.gpus_min)) : std::nullopt;
}

std::optional<int> unmeasured_size(const MalleableJob &job, const Application &application,
                                   const Pool &pool) {
    if (!is_waiting(job.stage) || has_run(job) || !application.speeds.empty()) return std::nullopt;
    const int requested = job.intent.first_gpus;
    return std::max(requested > 0 ? requested : pool.capacity.gpus_per_node, job.intent.gpus_min);
}

std::optional<int> measured_reach(const MalleableJob &job, const Application &application,
                                  double now_s, const Options &options) {
    const JobRecord &record = *job.record;
    const int largest = record.telemetry ? largest_measured(*record.telemetry, application)
                                         : largest_measured(application);
    if (largest > 0) return std::max(kBeyondMeasured * largest, job.intent.gpus_min);
    const bool is_new =
        holds_gpus(job.stage) && age_s(record.start_s, now_s) < options.min_resize_interval_s;
    return is_new ? std::optional(record.gpus_requested) : std::nullopt;
}

}  // namespace ringrt::controller
