// SPDX-License-Identifier: BSD-3-Clause
// Schedulers that the literature compares with. Each file's head explains its algorithm, its
// guarantees and its source. They give sizes off the ladder, stop jobs outright, and know what only
// a simulator knows: their type is not a policy's, so that slurmctld cannot be given one.
#pragma once

#include "slurm_plugin/policy/policy.h"

namespace ringrt::policy {

struct SimFacts {                   // of one job
    int gpus_asked = 0;             // the size its user asked for; 0: gpus_max
    double attained_gpu_s = 0;      // GPU-seconds received so far
    double time_left_s = kUnknown;  // of its time limit, which backfill plans with
};

struct SimJobs {
    std::span<const Job> jobs;
    std::span<const SimFacts> facts;  // of the job at the same index

    [[nodiscard]] std::size_t size() const { return jobs.size(); }
    // The size that a rigid policy gives: what was asked for, or the most that was allowed.
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

// When a job of `gpus` can start, by the times at which others end at the latest (EASY backfill).
struct Reservation {
    double in_s = std::numeric_limits<double>::infinity();
    int spare = 0;  // GPUs it will not need then
};
[[nodiscard]] Reservation reserve(std::vector<std::pair<double, int>> ends, int free, int gpus);

// Every job down `order` (indices into jobs) that still fits gets its rigid size, the others none.
[[nodiscard]] std::vector<Allotment> give_in_order(const SimJobs &jobs,
                                                   std::span<const std::size_t> order,
                                                   const Capacity &capacity);

}  // namespace ringrt::policy
