// SPDX-License-Identifier: BSD-3-Clause
// Schedulers from the literature, for comparison. Each file's header comment explains the
// algorithm, its guarantees and its source. They give sizes off the ladder, stop jobs, and use data
// that only a simulator has. Their type differs from a policy's, so that slurmctld cannot run one.
#pragma once

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

struct SimFacts {                   // of one job
    int gpus_asked = 0;             // the size that its user requested; 0: gpus_max
    double attained_gpu_s = 0;      // GPU-seconds received so far
    double time_left_s = kUnknown;  // until its time limit, which backfill plans with
};

struct SimJobs {
    std::span<const Job> jobs;
    std::span<const SimFacts> facts;  // facts[i] belongs to jobs[i]

    [[nodiscard]] std::size_t size() const { return jobs.size(); }
    // The size that a rigid policy gives: the requested size, or the largest allowed.
    [[nodiscard]] int rigid_size(std::size_t i) const {
        return facts[i].gpus_asked > 0 ? facts[i].gpus_asked : jobs[i].gpus_max;
    }
};

using SimDecide = std::vector<Allotment> (*)(const SimJobs &jobs, const Capacity &capacity,
                                             const Options &options);

[[nodiscard]] std::vector<Allotment> decide_fifo(const SimJobs &, const Capacity &,
                                                 const Options &);
[[nodiscard]] std::vector<Allotment> decide_srtf(const SimJobs &, const Capacity &,
                                                 const Options &);
[[nodiscard]] std::vector<Allotment> decide_tiresias(const SimJobs &, const Capacity &,
                                                     const Options &);
[[nodiscard]] std::vector<Allotment> decide_optimus(const SimJobs &, const Capacity &,
                                                    const Options &);
[[nodiscard]] std::vector<Allotment> decide_afs(const SimJobs &, const Capacity &, const Options &);

// When a job of `gpus` can start, given the latest end times of other jobs (EASY backfill).
struct Reservation {
    double in_s = std::numeric_limits<double>::infinity();
    int spare = 0;  // GPUs that it will not need then
};
[[nodiscard]] Reservation reserve(std::vector<std::pair<double, int>> ends, int free, int gpus);

// Every job in `order` (indices into jobs) that still fits gets its rigid size, the others get
// none.
[[nodiscard]] std::vector<Allotment> give_in_order(const SimJobs &jobs,
                                                   std::span<const std::size_t> order,
                                                   const Capacity &capacity);

}  // namespace ringrt::policy
